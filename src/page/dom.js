// Builds elements. Texts become text nodes, so no text of the server is read as HTML.

// element('a', { class: 'x', href: '#/', onclick: f }, 'text', child, [more])
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
  else if (name === 'value') node.value = value;
  else node.setAttribute(name, value === true ? '' : value);
}

const ICONS = {
  overview: 'M3 13h6V3H3v10Zm8 8h6V11h-6v10ZM3 21h6v-4H3v4Zm8-18v4h6V3h-6Z',
  queues: 'M3 5h16v3H3V5Zm0 6h16v3H3v-3Zm0 6h10v3H3v-3Z',
  dead: 'M7 2h8l5 5v8l-5 5H7l-5-5V7l5-5Zm3 4v6h2V6h-2Zm0 8v2h2v-2h-2Z',
  workers: 'M11 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8Zm-8 18c0-4 3.6-7 8-7s8 3 8 7H3Z',
  schedules: 'M11 2a9 9 0 1 1 0 18 9 9 0 0 1 0-18Zm-1 4v6l5 3 1-1.6-4-2.4V6h-2Z',
  nodes: 'M3 4h16v6H3V4Zm0 8h16v6H3v-6Zm3-6v2h2V6H6Zm0 8v2h2v-2H6Z',
  slowlog: 'M10 2h2v3a7.5 7.5 0 1 1-2 0V2Zm0 6v6h2V8h-2Z',
  doctor: 'M8 3h6v5h5v6h-5v5H8v-5H3V8h5V3Z',
  search: 'M9 3a6 6 0 0 1 4.7 9.7l5.3 5.3-1.4 1.4-5.3-5.3A6 6 0 1 1 9 3Zm0 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8Z',
  menu: 'M3 5h16v2H3V5Zm0 5h16v2H3v-2Zm0 5h16v2H3v-2Z',
  pause: 'M5 4h4v14H5V4Zm8 0h4v14h-4V4Z',
  play: 'M6 4l12 7-12 7V4Z',
  moon: 'M18 14A8 8 0 0 1 8 4a8 8 0 1 0 10 10Z',
};

export function icon(name) {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  const path = document.createElementNS(space, 'path');
  svg.setAttribute('viewBox', '0 0 22 22');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', 'icon');
  path.setAttribute('d', ICONS[name]);
  path.setAttribute('fill-rule', 'evenodd');
  svg.append(path);
  return svg;
}

export function button(label, onclick, attributes = {}) {
  return element('button', { type: 'button', onclick, ...attributes }, label);
}

export function badge(text, kind = text) {
  return element('span', { class: `badge badge-${kind}` }, text);
}

// A text of the server: isolated, so that its direction does not change the text around it.
export function bdi(text, attributes = {}) {
  return element('bdi', attributes, text);
}

// The title of a view. beside: the nodes beside the title.
export function head(title, ...beside) {
  return element('header', { class: 'head' }, element('h1', {}, title), element('div', { class: 'actions' }, beside));
}

// extra: the node beside the title, or null.
export function card(title, extra, ...content) {
  return element('section', { class: 'card' }, element('header', {}, element('h2', {}, title), extra), content);
}

// Names and values. A value that is undefined is left out.
export function facts(rows) {
  return element(
    'dl',
    { class: 'facts' },
    rows
      .filter(([, value]) => value !== undefined)
      .map(([label, value]) => element('div', {}, element('dt', {}, label), element('dd', {}, value))),
  );
}

// A group of buttons; the button of the current value is pressed. choices: { value: label }. A click calls choose(value).
export function segments(label, choices, current, choose) {
  const nodes = Object.entries(choices).map(([value, text]) =>
    button(text, () => (press(value), choose(value)), {
      'data-value': value,
      'aria-pressed': String(value === current),
    }),
  );
  function press(value) {
    for (const node of nodes) node.setAttribute('aria-pressed', String(node.dataset.value === value));
  }
  return element('div', { class: 'segments', role: 'group', 'aria-label': label }, nodes);
}

// Calls work in ms milliseconds, and again ms milliseconds after each end, until the signal. Does not call work while the
// page is hidden. Work must not fail.
export function repeat(ms, signal, work) {
  setTimeout(async () => {
    if (signal.aborted) return;
    if (!document.hidden) await work();
    repeat(ms, signal, work);
  }, ms);
}

// Calls work at once, and then as repeat() does.
export async function every(ms, signal, work) {
  if (!document.hidden) await work();
  repeat(ms, signal, work);
}
