// Dialogs: confirmation of an action, forms, progress.
import { bdi, button, element } from './dom.js';

// Shows a dialog. Returns the outcome that closeWith() gave it, or null if the user has cancelled it.
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

function closeWith(dialog, outcome) {
  dialog.outcome = outcome;
  dialog.close();
}

// Asks before an action that removes or moves something. label: the verb and the number of jobs.
export async function confirmAction(title, text, label) {
  const outcome = await openDialog(title, element('p', {}, bdi(text)), (dialog) => [
    button('Cancel', () => dialog.close(), { autofocus: true }),
    button(label, () => closeWith(dialog, true), { class: 'danger' }),
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
      Object.entries(field.choices).map(([value, label]) =>
        element('option', { value, selected: value === field.value }, label),
      ),
    );
  }
  if (field.type === 'checkbox') return element('input', { ...common, type: 'checkbox', checked: field.value === '1' });
  const value = field.value ?? '';
  if (field.type === 'body')
    return element('textarea', { ...common, rows: field.rows ?? 6, spellcheck: 'false', value });
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
  const input = control(field);
  const label = element('label', { for: input.id }, field.label);
  const help = field.help ? element('small', { id: `help-${field.name}` }, field.help) : null;
  if (field.type === 'checkbox') return element('div', { class: 'field check wide' }, input, label, help);
  return element('div', { class: `field ${field.wide ? 'wide' : ''}` }, label, input, help);
}

function fieldGroup({ title, fields, folds, open }) {
  const rows = element('div', { class: 'form' }, fields.map(fieldRow));
  if (folds) return element('details', { open }, element('summary', {}, title), rows);
  return title ? element('fieldset', {}, element('legend', {}, title), rows) : rows;
}

// Moves the focus to the field whose name the error begins with.
function focusField(form, text) {
  const word = text.split(' ', 1)[0].toLowerCase();
  const field = [...form.elements].find((node) => node.name?.toLowerCase() === word);
  const closed = field?.closest('details');
  if (closed) closed.open = true;
  field?.focus();
}

/*
 * A form of groups { title, fields, folds, open }, or of fields without a title: { name, label, type, value, help, choices,
 * required, wide, rows }. submit(values) runs the command. The dialog stays open while submit throws, and shows the error.
 * Returns true after a submit that succeeded. other: the label of a third button, after which the function returns 'other'.
 */
export async function formDialog({
  title,
  text = null,
  fields,
  groups = [{ fields }],
  label,
  submit,
  other = null,
  danger = false,
}) {
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true });
  const content = [text ? element('p', {}, text) : null, groups.map(fieldGroup)].flat();
  let refusal = null;

  const outcome = await openDialog(title, content, (dialog) => {
    const send = element('button', { type: 'submit', class: danger ? 'danger' : 'primary' }, label);
    dialog.addEventListener('submit', async (event) => {
      event.preventDefault();
      send.disabled = true;
      problem.hidden = true;
      try {
        await submit(Object.fromEntries(new FormData(event.target)));
        closeWith(dialog, true);
      } catch (error) {
        // Another value does not help against a missing right: the caller gets the error.
        if (error.code === 'NOPERM') {
          refusal = error;
          dialog.close();
        }
        problem.textContent = error.message;
        problem.hidden = false;
        focusField(event.target, error.message);
      }
      send.disabled = false;
    });
    const third = other === null ? [] : [button(other, () => closeWith(dialog, 'other'), { class: 'danger-text' })];
    return [problem, ...third, button('Cancel', () => dialog.close()), send];
  });
  if (refusal !== null) throw refusal;
  return outcome ?? false;
}

// A dialog with text only.
export function showDialog(title, content) {
  return openDialog(title, content, (dialog) => [button('Close', () => dialog.close(), { autofocus: true })]);
}

// A dialog during work of `most` steps, or of a number that is not known. Returns { stopped, set(done, text), close() }:
// stopped is true after a click on Stop.
export function progressDialog(title, most = null) {
  const bar = element('progress', { max: most, 'aria-label': title });
  const text = element('p', { class: 'muted' }, 'Begun.');
  let open = null;
  const progress = {
    stopped: false,
    set(done, state) {
      if (most !== null) bar.value = done;
      text.textContent = state;
    },
    close: () => open.close(),
  };
  openDialog(title, [bar, text], (dialog) => {
    open = dialog;
    return button('Stop', () => dialog.close());
  }).then(() => {
    progress.stopped = true;
  });
  return progress;
}
