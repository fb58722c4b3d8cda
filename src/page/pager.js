// The buttons of a list in pages.
import { button, element } from './dom.js';
import { count } from './format.js';

/* go(n) shows page n. set(n, size, total, more): total is null if the number of entries is not known. */
export function pager(go) {
  let page = 0;
  let end = 0;
  const first = button('First', () => go(0));
  const previous = button('Previous', () => go(page - 1));
  const next = button('Next', () => go(page + 1));
  const last = button('Last', () => go(end));
  const text = element('span', { class: 'muted' });
  const root = element(
    'nav',
    { class: 'pager', 'aria-label': 'Pages', hidden: true },
    first,
    previous,
    text,
    next,
    last,
  );

  function set(n, size, total, more = false) {
    const shown = total === null ? (n + 1) * size : Math.min((n + 1) * size, total);
    page = n;
    end = total === null ? n : Math.max(0, Math.ceil(total / size) - 1);
    first.disabled = previous.disabled = n === 0;
    next.disabled = total === null ? !more : n >= end;
    last.disabled = n >= end;
    last.hidden = total === null;
    root.hidden = previous.disabled && next.disabled;
    text.textContent = `${count(n * size + 1)}–${count(shown)}${total === null ? '' : ` of ${count(total)}`}`;
  }

  return { root, set };
}
