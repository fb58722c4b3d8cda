// The slowest commands of the server, newest first.
import { run } from './api.js';
import { actionButton } from './actions.js';
import { timeNode } from './cells.js';
import { show } from './bytes.js';
import { confirmAction } from './dialog.js';
import { bdi, button, element, head } from './dom.js';
import { ago, count, milliseconds } from './format.js';
import { table } from './table.js';
import { tell } from './toast.js';

const SHOWN = 128;

function commandText(words) {
  return words.map(show).join(' ');
}

export async function viewSlowlog({ root, signal, reload }) {
  const entries = (await run(['SLOWLOG', 'GET', SHOWN], signal)).map(([id, at, us, words, address, name]) => ({
    id,
    at: at * 1000,
    us,
    words,
    client: show(name || address),
  }));
  const grid = table({
    caption: 'Slow commands',
    empty: 'No command was slow.',
    key: (e) => String(e.id),
    columns: [
      { label: 'Time', text: (e) => ago(e.at), node: (e) => timeNode(e.at) },
      { label: 'Took', number: true, text: (e) => milliseconds(e.us / 1000) },
      {
        label: 'Command',
        class: 'wide',
        text: (e) => commandText(e.words),
        node: (e) => element('code', {}, bdi(commandText(e.words))),
      },
      { label: 'Client', text: (e) => e.client },
    ],
  });

  root.append(
    head('Slow log', button('Refresh', reload), actionButton('Clear', { command: 'SLOWLOG RESET' }, clear)),
    element('p', { class: 'muted' }, 'Only the work of the server counts, not the time for which a command waits.'),
    grid.root,
  );
  grid.update(entries);

  async function clear() {
    const text = entries.length === 1 ? 'The log has 1 entry.' : `The log has ${count(entries.length)} entries.`;
    if (!(await confirmAction('Clear the slow log?', text, 'Clear the log'))) return;
    await run(['SLOWLOG', 'RESET']);
    tell('The slow log is empty.');
    reload();
  }
}
