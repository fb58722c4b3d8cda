// Bytes of a job as text, as JSON or as hexadecimal digits.
import { hexDump, isBytes, toBytes } from './bytes.js';
import { button, card, element, segments } from './dom.js';
import { byteSize } from './format.js';
import { tell, tellError } from './toast.js';

// A longer text makes the browser slow.
const SHOWN_MAX = 256 * 1024;

// The value as JSON with indentation, or null. JSON with a number that a browser would round keeps its text.
function prettyJson(value) {
  if (isBytes(value) || !/^\s*[[{]/.test(value)) return null;
  try {
    const parsed = JSON.parse(value);
    return /\d{16}|\d[eE]\d/.test(value) ? value : JSON.stringify(parsed, null, 2);
  } catch {
    return null;
  }
}

function forms(value) {
  const bytes = toBytes(value);
  const json = prettyJson(value);
  const list = [];
  if (json !== null) list.push(['JSON', json]);
  if (!isBytes(value)) list.push(['Text', String(value)]);
  list.push(['Hex', hexDump(bytes.subarray(0, SHOWN_MAX / 4))]);
  return { list, size: bytes.length };
}

export function copyButton(value, label = 'Copy') {
  const work = async () => {
    try {
      await navigator.clipboard.writeText(isBytes(value) ? value.base64 : value);
      tell(isBytes(value) ? 'The bytes are in the clipboard, as base64.' : 'The text is in the clipboard.');
    } catch {
      tellError('The browser does not let the page use the clipboard.');
    }
  };
  return button('Copy', work, { class: 'small', 'aria-label': label });
}

export function bodyCard(title, value) {
  const { list, size } = forms(value);
  const noun = title.toLowerCase();
  const pre = element('pre', { tabindex: 0, role: 'region', 'aria-label': `The ${noun}` });
  const cut = element('p', { class: 'muted', hidden: true }, 'Only the beginning is shown.');
  const texts = Object.fromEntries(list);

  function choose(label) {
    pre.textContent = texts[label].slice(0, SHOWN_MAX);
    cut.hidden = texts[label].length <= SHOWN_MAX && !(label === 'Hex' && size > SHOWN_MAX / 4);
  }

  const labels = Object.keys(texts);
  const choice = segments(
    `Form of the ${noun}`,
    Object.fromEntries(labels.map((label) => [label, label])),
    labels[0],
    choose,
  );
  choose(labels[0]);
  return card(
    title,
    element(
      'div',
      { class: 'actions' },
      element('span', { class: 'muted' }, byteSize(size)),
      choice,
      copyButton(value, `Copy the ${noun}`),
    ),
    pre,
    cut,
  );
}
