// The servers of the database, and this server in detail.
import { runAll } from './api.js';
import { show, textOf } from './bytes.js';
import { badge, bdi, card, element, facts, head, repeat } from './dom.js';
import { byteSize, count, duration, rate } from './format.js';
import { rates } from './figures.js';
import { table } from './table.js';

const REFRESH_MS = 2000;
const STATES = { 1: ['live', 'done'], 10: ['no heartbeat', 'dead'], 100: ['leaving', 'active'] };
const NOTIFICATIONS = {
  hearing: 'arrive',
  polling: 'do not arrive; the server polls',
  alone: 'do not arrive; there are no other servers',
};

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
  ['Idle workers', (i) => count(i.blocked_clients)],
  ['Commands a second', (i, now) => rate(now.total_commands_processed)],
  ['Memory', (i) => `${byteSize(Number(i.used_memory))} of ${byteSize(Number(i.maxmemory))}`],
  ['Jobs of all servers', (i) => count(i.registered_jobs)],
  ['Queues', (i) => count(i.registered_queues)],
  ['Database', (i) => i.database],
  ['Host of the database', (i) => i.database_host],
  ['Connected to the database', (i) => (i.database_connected === '1' ? 'yes' : 'no')],
  ['Last error of the database', (i) => i.database_last_error],
  ['Durability', (i) => i.durability_in_force],
  ['Notifications of other servers', (i) => NOTIFICATIONS[i.other_servers] ?? i.other_servers],
];

function factList(info, now) {
  const values = FACTS.map(([label, text]) => [label, text(info, now)]);
  return facts(values.filter(([, text]) => text).map(([label, text]) => [label, bdi(show(text))]));
}

export async function viewNodes({ root, signal }) {
  let here = null;
  const grid = table({
    caption: 'Servers',
    empty: 'No server is known.',
    key: ([id]) => id,
    columns: [
      {
        label: 'Server',
        class: 'wide',
        text: ([id]) => id,
        node: ([id]) => [element('code', {}, id), id === here ? badge('this server', 'plain') : ''],
      },
      { label: 'Address', named: true, text: ([, host, port]) => `${show(host) || location.hostname}:${show(port)}` },
      {
        label: 'State',
        text: ([, , , priority]) => show(priority),
        node: ([, , , priority]) => badge(...(STATES[priority] ?? [`priority ${priority}`, 'plain'])),
      },
    ],
  });
  const detail = element('div', {});
  const rateOf = rates(['total_commands_processed']);

  async function load() {
    const [hello, text] = await runAll([['HELLO'], ['INFO']], signal);
    if (hello instanceof Error) throw hello;
    const [, id, ...nodes] = hello;
    here = id;
    grid.update(nodes);
    if (text instanceof Error) return void detail.replaceChildren(element('p', { class: 'empty' }, bdi(text.message)));
    const info = parseInfo(text);
    detail.replaceChildren(factList(info, rateOf(Date.now(), info)));
  }

  await load();
  root.append(head('Nodes'), grid.root, card('This server', null, detail));
  repeat(REFRESH_MS, signal, () => load().catch(() => {}));
}
