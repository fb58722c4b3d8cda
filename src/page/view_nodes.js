// The servers of the database, and this server in detail.
import { run, runAll } from './api.js';
import { show, textOf } from './bytes.js';
import { badge, bdi, button, element } from './dom.js';
import { byteSize, count, duration } from './format.js';
import { table } from './table.js';

const PRIORITIES = { 1: ['live', 'done'], 10: ['no heartbeat', 'dead'], 100: ['leaving', 'active'] };

function nodeState(priority) {
  const [text, kind] = PRIORITIES[priority] ?? [`priority ${priority}`, 'plain'];
  return badge(text, kind);
}

function parseInfo(text) {
  const lines = textOf(text)
    .split('\r\n')
    .filter((line) => line.includes(':'));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

const FACTS = [
  ['Version', (i) => i.pgdisque_version],
  ['Uptime', (i) => duration(Number(i.uptime_in_seconds))],
  ['Clients', (i) => `${count(i.connected_clients)} of ${count(i.maxclients)}`],
  ['Clients that wait for jobs', (i) => count(i.blocked_clients)],
  ['Memory', (i) => `${byteSize(Number(i.used_memory))} of ${byteSize(Number(i.maxmemory))}`],
  ['Commands', (i) => count(i.total_commands_processed)],
  ['Jobs', (i) => count(i.registered_jobs)],
  ['Queues', (i) => count(i.registered_queues)],
  ['Database', (i) => i.database],
  ['Host of the database', (i) => i.database_host],
  ['Connected to the database', (i) => (i.database_connected === '1' ? 'yes' : 'no')],
  ['Last error of the database', (i) => i.database_last_error],
  ['Durability', (i) => i.durability_in_force],
  ['Other servers', (i) => i.other_servers],
];

function factList(info) {
  const known = FACTS.map(([label, text]) => [label, text(info)]).filter(
    ([, text]) => text !== undefined && text !== '',
  );
  return element(
    'dl',
    { class: 'facts' },
    known.map(([label, text]) => element('div', {}, element('dt', {}, label), element('dd', {}, bdi(show(text))))),
  );
}

export async function viewNodes({ root, signal, reload }) {
  const [, here, ...nodes] = await run(['HELLO'], signal);
  const [info] = await runAll([['INFO']], signal);
  const grid = table({
    caption: 'Servers',
    empty: 'No server is known.',
    key: ([id]) => id,
    columns: [
      {
        label: 'Server',
        class: 'wide',
        text: ([id]) => id,
        node: ([id]) => [element('code', {}, id), id === here ? [' ', badge('this server', 'plain')] : []].flat(),
      },
      { label: 'Address', text: ([, host, port]) => `${show(host) || location.hostname}:${show(port)}` },
      { label: 'State', text: ([, , , priority]) => show(priority), node: ([, , , priority]) => nodeState(priority) },
    ],
  });

  root.append(element('header', { class: 'head' }, element('h1', {}, 'Nodes'), button('Refresh', reload)), grid.root);
  grid.update(nodes);
  root.append(
    element(
      'section',
      { class: 'card' },
      element('header', {}, element('h2', {}, 'This server')),
      info instanceof Error ? element('p', { class: 'empty' }, bdi(info.message)) : factList(parseInfo(info)),
    ),
  );
}
