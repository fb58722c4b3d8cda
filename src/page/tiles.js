// A row of large numbers.
import { element } from './dom.js';

/* list: { name, label, kind, href }. Returns { root, set(name, text, note, href) }. A tile with a href is a link. */
export function tiles(list) {
  const cells = new Map();
  const root = element(
    'ul',
    { class: 'tiles' },
    list.map(({ name, label, kind, href }) => {
      const value = element('span', { class: 'figure' }, '–');
      const note = element('span', { class: 'note' });
      const link = element(
        'a',
        { href, class: 'tile' },
        element('span', { class: `label key-${kind}` }, label),
        value,
        note,
      );
      cells.set(name, { link, value, note });
      return element('li', {}, link);
    }),
  );

  return {
    root,
    set(name, text, note = '', href = null) {
      const cell = cells.get(name);
      if (cell.value.textContent !== text) cell.value.textContent = text;
      if (cell.note.textContent !== note) cell.note.textContent = note;
      if (href !== null) cell.link.setAttribute('href', href);
      cell.link.classList.toggle('none', text === '0' || text === '–');
    },
  };
}
