// A table whose rows are updated in place, so that the focus and the selection stay.
import { element } from './dom.js';

/*
 * columns: { label, head, text(row), node(row), number, named, optional, sort }. A cell is drawn again when its text has
 * changed; node builds its content if the content is more than the text. head stands in place of the label. A column that
 * is optional is hidden while none of its cells has a value. On a narrow screen each row is a block, and numbers and
 * columns that are named have their labels before them. key(row): a text that is unique. onSort(name) makes the labels of
 * columns with a sort into buttons. more(row): a node below the row, or null.
 */
export function table({ columns, key, caption, empty, onSort, more = () => null }) {
  const head = element('tr');
  const body = element('tbody');
  let rows = new Map();
  const none = element('p', { class: 'empty', hidden: true }, empty);
  const grid = element('table', {}, element('caption', { class: 'unseen' }, caption), element('thead', {}, head), body);
  const scroll = element('div', { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: 0 }, grid);
  const root = element('div', { class: 'table' }, scroll, none);

  head.append(...columns.map((column) => headCell(column, onSort)));

  function addRow() {
    const cells = columns.map((column) => element('td', { class: cellClass(column), 'data-label': labelOf(column) }));
    const tr = element('tr', {}, cells);
    return { tr, texts: [], below: null };
  }

  // Puts the node into a row of its own below the line. Removes that row if node is null.
  function fillBelow(line, node) {
    if (line.below?.firstChild.firstChild === node) return;
    line.below?.remove();
    line.below = node && element('tr', { class: 'below' }, element('td', { colspan: columns.length }, node));
  }

  function fill(line, row) {
    columns.forEach((column, i) => {
      const text = String(column.text(row));
      if (line.texts[i] === text) return;
      line.texts[i] = text;
      line.tr.children[i].replaceChildren(...[column.node ? column.node(row) : text].flat());
      line.tr.children[i].classList.toggle('none', text === '0' || isBlank(text));
    });
  }

  function update(list) {
    const lines = list.map((row) => {
      const name = key(row);
      const line = rows.get(name) ?? addRow();
      rows.delete(name);
      fill(line, row);
      fillBelow(line, more(row));
      return [name, line];
    });
    for (const { tr, below } of rows.values()) [tr, below].forEach((node) => node?.remove());
    rows = new Map(lines);
    lines
      .flatMap(([, { tr, below }]) => (below ? [tr, below] : [tr]))
      .forEach((tr, i) => body.children[i] === tr || body.insertBefore(tr, body.children[i] ?? null));
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
    for (const tr of [head, ...[...rows.values()].map((line) => line.tr)]) tr.children[i].hidden = hidden;
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

// The label before a value on a narrow screen.
function labelOf(column) {
  return column.number || column.named ? column.label : null;
}

function cellClass(column) {
  return [column.number ? 'number' : '', column.class ?? ''].join(' ').trim() || null;
}

function headCell(column, onSort) {
  const label =
    column.sort && onSort
      ? element('button', { type: 'button', class: 'sort', onclick: () => onSort(column.sort) }, column.label)
      : column.head
        ? column.head
        : column.unseen
          ? element('span', { class: 'unseen' }, column.label)
          : column.label;
  return element('th', { scope: 'col', class: cellClass(column) }, label);
}
