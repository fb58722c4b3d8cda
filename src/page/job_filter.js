// Selects jobs by their error, headers and age, and revives or deletes the dead jobs that are selected.
import { run } from './api.js';
import { actionButton } from './actions.js';
import { show } from './bytes.js';
import { confirmAction, formDialog } from './dialog.js';
import { element } from './dom.js';
import { plural } from './format.js';
import { filterWords, NO_FILTER } from './jobs.js';
import { tell } from './toast.js';

const FIELDS = [
  { name: 'error', label: 'Error contains' },
  { name: 'header', label: 'Header' },
  { name: 'text', label: 'Text of the header' },
  { name: 'older', label: 'Died at least … seconds ago', number: true },
  { name: 'newer', label: 'Died at most … seconds ago', number: true },
];

function deadWords(filter) {
  const ages = ['older', 'newer'].filter((word) => filter[word] !== '');
  return [...filterWords(filter), ...ages.flatMap((word) => [word.toUpperCase(), filter[word]])];
}

async function revive(name, filter) {
  let revived = 0;
  const done = await formDialog({
    title: 'Revive the selected dead jobs',
    fields: [
      { name: 'RATE', label: 'Jobs a second', type: 'number', min: 1, placeholder: 'all at once', autofocus: true },
      { name: 'COUNT', label: 'At most', type: 'number', min: 1, placeholder: 'all' },
      { name: 'TO', label: 'To another queue', placeholder: show(name), wide: true },
    ],
    label: 'Revive',
    submit: async (values) => {
      const options = ['RATE', 'COUNT', 'TO'].filter((word) => values[word] !== '');
      revived = await run(['REVIVE', name, ...deadWords(filter), ...options.flatMap((word) => [word, values[word]])]);
    },
  });
  if (done) tell(`The server has revived ${plural(revived, 'job')}.`);
}

async function remove(name, filter) {
  const words = deadWords(filter);
  const which = words.length === 0 ? 'all dead jobs' : 'the selected dead jobs';
  const text = 'The server deletes every dead job that the filter selects. Nothing brings them back.';
  if (!(await confirmAction(`Delete ${which} of ${show(name)}?`, text, `Delete ${which}`))) return;
  tell(`The server has deleted ${plural(await run(['DELDEAD', name, ...words]), 'job')}.`);
}

/*
 * The form of the filter of a queue. query: the values at the beginning. changed() is called when the values change, and
 * after an action. Returns { root, value(), setDead(shown) }: only dead jobs have ages and actions.
 */
export function filterForm({ name, query, changed }) {
  const current = Object.fromEntries(Object.keys(NO_FILTER).map((field) => [field, show(query[field])]));
  const rows = FIELDS.map(({ name: field, label, number }) => {
    const input = element('input', {
      id: `filter-${field}`,
      type: number ? 'number' : 'text',
      min: number ? 0 : null,
      value: current[field],
      autocomplete: 'off',
      spellcheck: 'false',
      onchange: () => {
        current[field] = input.value;
        changed();
      },
    });
    const row = element('div', { class: 'field' }, element('label', { for: input.id }, label), input);
    return { row, ofDead: number === true };
  });
  const after = (work) => async () => {
    await work(name, value());
    changed();
  };
  const actions = element(
    'div',
    { class: 'actions' },
    actionButton('Revive selected', { command: 'REVIVE', name }, after(revive), { class: 'small' }),
    actionButton('Delete selected', { command: 'DELDEAD', name }, after(remove), { class: 'small danger-text' }),
  );
  const filtered = Object.values(current).some((text) => text !== '');
  let dead = false;

  function value() {
    return dead ? { ...current } : { ...current, older: '', newer: '' };
  }

  return {
    value,
    root: element(
      'details',
      { class: 'filter', open: filtered },
      element('summary', {}, 'Filter'),
      element(
        'div',
        { class: 'filter-fields' },
        rows.map(({ row }) => row),
      ),
      actions,
    ),
    setDead(shown) {
      dead = shown;
      actions.hidden = !shown;
      for (const { row, ofDead } of rows) row.hidden = ofDead && !shown;
    },
  };
}
