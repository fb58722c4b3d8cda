// The keyboard: / searches, g and a letter go to a view, j and k move in a list, ? shows this list.
import { element } from './dom.js';
import { showDialog } from './dialog.js';

const VIEWS = {
  o: ['Overview', '#/'],
  q: ['Queues', '#/queues'],
  x: ['Dead jobs', '#/dead'],
  w: ['Workers', '#/workers'],
  s: ['Schedules', '#/schedules'],
  n: ['Nodes', '#/nodes'],
  l: ['Slow log', '#/slowlog'],
  d: ['Doctor', '#/doctor'],
};
const GO_MS = 1500;

let going = 0;

function isTyping(node) {
  return node.matches('input:not([type=checkbox]), textarea, select, [contenteditable]');
}

// Moves the focus to the first link of the next or previous row of the table.
function moveRow(step) {
  const links = [...document.querySelectorAll('tbody tr:not(.below)')]
    .map((row) => row.querySelector('a'))
    .filter((link) => link !== null);
  if (links.length === 0) return;
  const here = links.findIndex((link) => link.closest('tr').contains(document.activeElement));
  const next = links[here < 0 ? 0 : Math.min(links.length - 1, Math.max(0, here + step))];
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}

function help() {
  const keys = [
    ['/', 'Search'],
    ...Object.entries(VIEWS).map(([key, [label]]) => [`g ${key}`, label]),
    ['j, k', 'Next and previous row'],
    ['Enter', 'Open the row'],
    ['r', 'Read the view again'],
    ['t', 'Change the colours'],
    ['Escape', 'Close'],
    ['?', 'This list'],
  ];
  return showDialog(
    'Keyboard',
    element(
      'dl',
      { class: 'keys' },
      keys.map(([key, label]) =>
        element(
          'div',
          {},
          element(
            'dt',
            {},
            key.split(' ').map((part) => element('kbd', {}, part)),
          ),
          element('dd', {}, label),
        ),
      ),
    ),
  );
}

/* actions: search(), reload(), theme(). */
export function listenKeys(actions) {
  const commands = {
    '/': actions.search,
    '?': help,
    j: () => moveRow(1),
    k: () => moveRow(-1),
    r: actions.reload,
    t: actions.theme,
  };

  document.addEventListener('keydown', (event) => {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      isTyping(event.target) ||
      document.querySelector('dialog[open]')
    )
      return;
    const view = Date.now() - going < GO_MS ? VIEWS[event.key] : undefined;
    going = event.key === 'g' ? Date.now() : 0;
    if (view) location.hash = view[1];
    else if (commands[event.key]) commands[event.key]();
    else return;
    event.preventDefault();
  });
  return help;
}
