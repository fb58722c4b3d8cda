// Dialogs: confirmation of an action, and forms.
import { bdi, button, element } from './dom.js';

// Shows a dialog and returns what it was closed with: null if the user has cancelled it.
function openDialog(title, content, buttons) {
  const dialog = element('dialog', { 'aria-labelledby': 'dialog-title' });
  return new Promise((resolve) => {
    const form = element(
      'form',
      { method: 'dialog' },
      element('h2', { id: 'dialog-title' }, bdi(title)),
      content,
      element('footer', {}, buttons(dialog)),
    );
    dialog.append(form);
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.outcome ?? null);
    });
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector('[autofocus]')?.focus();
  });
}

// Asks before an action that removes or moves something. label: the verb and the number of jobs.
export async function confirmAction(title, text, label, { danger = true } = {}) {
  const outcome = await openDialog(title, element('p', {}, bdi(text)), (dialog) => [
    button('Cancel', () => dialog.close(), { autofocus: true }),
    button(
      label,
      () => {
        dialog.outcome = true;
        dialog.close();
      },
      { class: danger ? 'danger' : 'primary' },
    ),
  ]);
  return outcome === true;
}

function control(field) {
  const common = {
    id: `field-${field.name}`,
    name: field.name,
    required: field.required,
    autocomplete: 'off',
    'aria-describedby': field.help ? `help-${field.name}` : null,
    autofocus: field.autofocus,
  };
  if (field.choices) {
    return element(
      'select',
      common,
      field.choices.map(([value, label]) => element('option', { value, selected: value === field.value }, label)),
    );
  }
  const value = field.value ?? '';
  if (field.type === 'body') return element('textarea', { ...common, rows: field.rows ?? 6, spellcheck: 'false', value });
  return element('input', {
    ...common,
    value,
    type: field.type ?? 'text',
    min: field.min,
    max: field.max,
    placeholder: field.placeholder,
    spellcheck: 'false',
  });
}

function fieldRow(field) {
  return element(
    'div',
    { class: `field ${field.wide ? 'wide' : ''}` },
    element('label', { for: `field-${field.name}` }, field.label),
    control(field),
    field.help ? element('small', { id: `help-${field.name}` }, field.help) : null,
  );
}

/*
 * A form with fields: { name, label, type, value, help, choices, required, wide, rows }. submit(values) runs the command. The
 * dialog stays open while submit throws, and shows the error. Returns true after a submit that succeeded. other: the label
 * of a third button, after which the function returns 'other'.
 */
export async function formDialog(title, fields, label, submit, other = null) {
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true });
  const content = element('div', { class: 'form' }, fields.map(fieldRow), problem);
  let refusal = null;

  const outcome = await openDialog(title, content, (dialog) => {
    const send = element('button', { type: 'submit', class: 'primary' }, label);
    dialog.addEventListener('submit', async (event) => {
      event.preventDefault();
      send.disabled = true;
      problem.hidden = true;
      try {
        await submit(Object.fromEntries(new FormData(event.target)));
        dialog.outcome = true;
        dialog.close();
      } catch (error) {
        // Another value does not help against a missing right: the caller gets the error.
        if (error.code === 'NOPERM') {
          refusal = error;
          dialog.close();
        }
        problem.textContent = error.message;
        problem.hidden = false;
      }
      send.disabled = false;
    });
    const third =
      other === null
        ? []
        : [
            button(
              other,
              () => {
                dialog.outcome = 'other';
                dialog.close();
              },
              { class: 'danger-text' },
            ),
          ];
    return [...third, button('Cancel', () => dialog.close()), send];
  });
  if (refusal !== null) throw refusal;
  return outcome ?? false;
}

// A dialog with text only.
export function showDialog(title, content) {
  return openDialog(title, content, (dialog) => [button('Close', () => dialog.close(), { autofocus: true })]);
}
