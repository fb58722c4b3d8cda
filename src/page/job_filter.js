// The form that selects jobs by their error, headers and age.
import { show } from './bytes.js';
import { element } from './dom.js';
import { NO_FILTER } from './jobs.js';

const FIELDS = [
  { name: 'error', label: 'Error contains' },
  { name: 'header', label: 'Header' },
  { name: 'text', label: 'Text of the header' },
  { name: 'older', label: 'Died longer ago than', age: true },
  { name: 'newer', label: 'Died within the last', age: true },
];
const UNITS = { s: 1, m: 60, h: 3600, d: 86400 };

// "10m" as seconds, or an empty text if the text is no time.
function seconds(text) {
  const [, number, unit] = text.trim().match(/^(\d+) ?([smhd]?)$/) ?? [];
  return number === undefined ? '' : Number(number) * UNITS[unit || 's'];
}

/*
 * query: the values at the beginning. The form calls changed() when the user changes a value. Returns { root, texts(),
 * value(), set(field, text), setDead(shown) }. After setDead(false) the form has no ages, because only dead jobs have ages.
 */
export function filterForm({ query, changed }) {
  let dead = false;
  const inputs = new Map();
  const rows = FIELDS.map(({ name, label, age }) => {
    const input = element('input', {
      id: `filter-${name}`,
      type: 'text',
      value: show(query[name]),
      placeholder: age ? '30s, 10m, 2h, 1d' : null,
      autocomplete: 'off',
      spellcheck: 'false',
      onchange: changed,
    });
    inputs.set(name, input);
    return { row: element('div', { class: 'field' }, element('label', { for: input.id }, label), input), age };
  });
  const texts = () => Object.fromEntries([...inputs].map(([name, input]) => [name, input.value]));

  const root = element(
    'details',
    { class: 'filter', open: Object.keys(NO_FILTER).some((name) => query[name]) },
    element('summary', {}, 'Filter'),
    element(
      'div',
      { class: 'filter-fields' },
      rows.map(({ row }) => row),
    ),
  );

  return {
    root,
    texts,
    value: () => ({
      ...texts(),
      older: dead ? seconds(inputs.get('older').value) : '',
      newer: dead ? seconds(inputs.get('newer').value) : '',
    }),
    set(name, text) {
      inputs.get(name).value = text;
      root.open = true;
      changed();
    },
    setDead(shown) {
      dead = shown;
      for (const { row, age } of rows) row.hidden = age === true && !shown;
    },
  };
}
