// A table whose rows are updated in place, so that the focus and the selection stay.
import { element } from './dom.js';

/*
 * columns: { label, text(row), node(row), number, optional, sort }. text decides whether a cell has changed; node builds
 * its content if that is more than a text. A column that is optional is hidden while none of its cells has a value.
 * key(row): a text that is unique. onSort(name) makes the labels of columns with a sort into buttons.
 */
export function table({ columns, key, caption, empty, onSort }) {
  const head = element('tr');
  const body = element('tbody');
  const rows = new Map();
  const none = element('p', { class: 'empty', hidden: true }, empty);
  const grid = element('table', {}, element('caption', { class: 'unseen' }, caption), element('thead', {}, head), body);
  const scroll = element('div', { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: 0 }, grid);
  const root = element('div', { class: 'table' }, scroll, none);

  head.append(...columns.map((column) => headCell(column, onSort)));

  function addRow(row) {
    const tr = element('tr', {});
    tr.append(...columns.map((column) => element('td', { class: cellClass(column) })));
    return { tr, texts: [] };
  }

  function fill(line, row) {
    columns.forEach((column, i) => {
      const text = String(column.text(row));
      if (line.texts[i] === text) return;
      line.texts[i] = text;
      line.tr.children[i].replaceChildren(...[column.node ? column.node(row) : text].flat());
    });
  }

  function update(list) {
    const seen = new Set();
    list.forEach((row, i) => {
      const name = key(row);
      seen.add(name);
      if (!rows.has(name)) rows.set(name, addRow(row));
      const line = rows.get(name);
      fill(line, row);
      if (body.children[i] !== line.tr) body.insertBefore(line.tr, body.children[i] ?? null);
    });
    for (const [name, line] of rows) {
      if (seen.has(name)) continue;
      line.tr.remove();
      rows.delete(name);
    }
    columns.forEach(
      (column, i) =>
        column.optional &&
        hideColumn(
          i,
          list.every((row) => isBlank(column.text(row))),
        ),
    );
    scroll.hidden = list.length === 0;
    none.hidden = list.length > 0;
  }

  function hideColumn(i, hidden) {
    for (const tr of grid.rows) tr.children[i].hidden = hidden;
  }

  // Marks the column that orders the rows.
  function sorted(name, descending) {
    columns.forEach((column, i) => {
      if (column.sort === name) head.children[i].setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      else head.children[i].removeAttribute('aria-sort');
    });
  }

  return { root, update, sorted };
}

function isBlank(text) {
  return text === '' || text === '–';
}

function cellClass(column) {
  return [column.number ? 'number' : '', column.class ?? ''].join(' ').trim() || null;
}

function headCell(column, onSort) {
  const label =
    column.sort && onSort
      ? element('button', { type: 'button', class: 'sort', onclick: () => onSort(column.sort) }, column.label)
      : column.unseen
        ? element('span', { class: 'unseen' }, column.label)
        : column.label;
  return element('th', { scope: 'col', class: cellClass(column) }, label);
}
