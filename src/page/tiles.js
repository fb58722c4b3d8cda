// A row of large numbers.
import { element } from './dom.js';

/* list: { name, label, href, kind }. Returns { root, set(name, text, note) }. */
export function tiles(list) {
  const cells = new Map();
  const root = element(
    'dl',
    { class: 'tiles' },
    list.map(({ name, label, kind }) => {
      const value = element('dd', { class: 'figure' }, '–');
      const note = element('dd', { class: 'note' });
      cells.set(name, { value, note });
      return element('div', { class: `tile ${kind ? `tile-${kind}` : ''}` }, element('dt', {}, label), value, note);
    }),
  );

  return {
    root,
    set(name, text, note = '') {
      const cell = cells.get(name);
      if (cell.value.textContent !== text) cell.value.textContent = text;
      if (cell.note.textContent !== note) cell.note.textContent = note;
    },
  };
}
