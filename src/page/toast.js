// Short messages at the lower edge. A screen reader reads them.
import { bdi, button, element } from './dom.js';

const SHOWN_MS = 6000;
const SHOWN_MAX = 4;

function addToast(text, kind, href) {
  const box = document.getElementById(kind === 'error' ? 'toasts-errors' : 'toasts');
  const toast = element(
    'div',
    { class: `toast toast-${kind}` },
    element('span', {}, bdi(text), ' ', href ? element('a', { href }, 'Show') : null),
  );
  const close = () => toast.remove();

  toast.append(button('×', close, { class: 'toast-close', 'aria-label': 'Close the message' }));
  box.append(toast);
  while (box.children.length > SHOWN_MAX) box.firstChild.remove();
  if (kind !== 'error') setTimeout(close, SHOWN_MS);
}

// href: the address of the thing that the text is about.
export function tell(text, href) {
  addToast(text, 'done', href);
}

export function tellError(text) {
  addToast(text, 'error');
}
