// The overview: the server's figures, their course, problems, and the queues with the most jobs.
import { run, runAll } from './api.js';
import { keyOf, show } from './bytes.js';
import { courses } from './courses.js';
import { bdi, element, every } from './dom.js';
import { queueFigures, rates } from './figures.js';
import { compact, count, milliseconds, rate } from './format.js';
import { findings, severityBadge } from './findings.js';
import { onFigures } from './live.js';
import { queueAddress } from './router.js';
import { table } from './table.js';
import { tiles } from './tiles.js';

const LISTED = 8;

// The first queues with queued jobs by an order of QSCAN, which looks at all queues.
async function firstQueues(order, signal) {
  const reply = await run(['QSCAN', '0', 'COUNT', LISTED, 'MINLEN', 1, 'ORDER', order], signal);
  const replies = await runAll(
    reply[1].map((name) => ['QSTAT', name]),
    signal,
  );
  return replies
    .filter((figures) => !(figures instanceof Error))
    .map(queueFigures)
    .filter((q) => q !== null);
}

// A table of these queues. update() reads it again; a user without the right to run QSCAN sees no queue.
function queueCard(title, order, signal, ...links) {
  const grid = queueTable(title);
  const note = element('p', { class: 'muted', hidden: true }, `The first ${LISTED} of all queues.`);

  async function update() {
    const queues = await firstQueues(order, signal).catch(() => []);
    if (signal.aborted) return;
    grid.update(queues);
    note.hidden = queues.length < LISTED;
  }
  const root = element(
    'section',
    { class: 'card' },
    element('header', {}, element('h2', {}, title), ...links),
    grid.root,
    note,
  );
  return { root, update };
}

function queueTable(caption) {
  return table({
    caption,
    empty: 'No job waits.',
    key: (q) => keyOf(q.name),
    columns: [
      {
        label: 'Queue',
        text: (q) => show(q.name),
        class: 'wide',
        node: (q) => element('a', { href: queueAddress(q.name) }, bdi(show(q.name))),
      },
      { label: 'Queued', number: true, text: (q) => count(q.len) },
      {
        label: 'Age of the oldest',
        number: true,
        text: (q) => milliseconds(q.oldest),
      },
    ],
  });
}

function alertList(list) {
  return list
    .filter((f) => f.severity !== 'note')
    .map((f) =>
      element('li', {}, severityBadge(f.severity), ' ', bdi(f.text), ' ', element('a', { href: '#/doctor' }, 'Advice')),
    );
}

export async function viewOverview({ root, query, signal }) {
  const numbers = tiles([
    { name: 'len', label: 'Queued', kind: 'queued' },
    { name: 'active', label: 'Running', kind: 'active' },
    { name: 'delayed', label: 'Delayed', kind: 'delayed' },
    { name: 'waiting', label: 'Wait for jobs' },
    { name: 'dead', label: 'Dead', kind: 'dead' },
    { name: 'added', label: 'Added' },
    { name: 'delivered', label: 'Delivered' },
    { name: 'acknowledged', label: 'Acknowledged' },
    { name: 'clients', label: 'Clients' },
  ]);
  const charts = courses({ queue: null, query, signal });
  const alerts = element('ul', { class: 'alerts', hidden: true, 'aria-label': 'Problems' });
  const longest = queueCard('Longest queues', 'len', signal, element('a', { href: '#/queues' }, 'All queues'));
  const oldest = queueCard('Oldest queued jobs', 'age', signal);
  const rateOf = rates(['added', 'delivered', 'acknowledged']);

  root.append(
    element('header', { class: 'head' }, element('h1', {}, 'Overview'), charts.ranges),
    alerts,
    numbers.root,
    charts.root,
    element('div', { class: 'plots' }, longest.root, oldest.root),
  );

  onFigures(({ now, server }) => {
    const change = rateOf(now, server);
    for (const name of ['len', 'active', 'delayed', 'waiting', 'dead']) numbers.set(name, compact(server[name]));
    for (const name of ['added', 'delivered', 'acknowledged']) {
      numbers.set(name, rate(change[name]), `${compact(server[name])} in total`);
    }
    numbers.set('len', compact(server.len), `in ${count(server.queues)} queues`);
    numbers.set('clients', compact(server.clients), `${count(server.blocked)} wait for jobs`);
  }, signal);

  every(5000, signal, () => Promise.all([longest.update(), oldest.update()]));
  // A user without the right to run DOCTOR sees no alerts.
  findings(signal)
    .then((list) => {
      alerts.replaceChildren(...alertList(list));
      alerts.hidden = alerts.children.length === 0;
    })
    .catch(() => {});
}
