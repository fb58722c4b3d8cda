// The overview: problems, the server's figures and their course, and the queues with the most queued and dead jobs.
import { run } from './api.js';
import { nameColumn } from './cells.js';
import { keyOf, show } from './bytes.js';
import { courses } from './courses.js';
import { bdi, card, element, every } from './dom.js';
import { readFigures } from './figures.js';
import { count, milliseconds, plural } from './format.js';
import { findingLink, findings, severityBadge } from './findings.js';
import { onFigures } from './live.js';
import { queueAddress } from './router.js';
import { table } from './table.js';
import { tiles } from './tiles.js';

const LISTED = 8;

// The figures of the first queues by an order of QSCAN, which looks at all queues in memory.
async function firstQueues(order, wanted, signal) {
  const [, names] = await run(['QSCAN', '0', 'COUNT', wanted, 'ORDER', order], signal);
  return readFigures(names, signal);
}

function figure(label, name) {
  return { label, number: true, text: (q) => count(q[name]) };
}

const OLDEST = { label: 'Oldest', number: true, text: (q) => milliseconds(q.oldest) };
const LATENCY = { label: 'Latency p99', number: true, text: (q) => milliseconds(q.most) };

// A table of the first queues by an order of QSCAN. A queue whose figure of that name is 0 is left out.
function queueCard({ title, order, name, empty, columns, href, all, signal }) {
  const grid = table({
    caption: title,
    empty,
    key: (q) => keyOf(q.name),
    columns: [{ ...nameColumn(), sort: null }, ...columns],
  });
  const link = element('a', { href }, all);

  return {
    link,
    root: card(title, link, grid.root),
    // A user without the right to run QSCAN sees no queue.
    async update() {
      const queues = await firstQueues(order, LISTED, signal).catch(() => []);
      if (!signal.aborted) grid.update(queues.filter((q) => q[name] > 0));
    },
  };
}

const QUIET = element('li', { class: 'good' }, 'The doctor has found no problem.');

// The problems that DOCTOR and the stream of figures report, the worst problem first.
function alertList() {
  const text = ' The server has no connection to its database.';
  const away = element('li', { hidden: true }, severityBadge('error'), text);
  const root = element('ul', { class: 'alerts', hidden: true, 'aria-label': 'Problems' }, away);
  return {
    root,
    setDatabase(connected) {
      away.hidden = connected;
      if (!connected) root.hidden = false;
    },
    setFindings(list) {
      // The list has the first finding of each check, because the text of that finding has the number of findings.
      const firsts = list.filter((f, i) => list.findIndex((other) => other.check === f.check) === i);
      const problems = firsts.filter((f) => f.severity !== 'note');
      const advice = (f) => findingLink(f) ?? element('a', { href: '#/doctor' }, 'Advice');
      const lines = problems.map((f) => element('li', {}, severityBadge(f.severity), ' ', bdi(f.text), ' ', advice(f)));
      root.replaceChildren(away, ...(lines.length > 0 ? lines : [QUIET]));
      root.hidden = false;
    },
  };
}

async function showOldest(numbers, signal) {
  const [q] = await firstQueues('age', 1, signal).catch(() => []);
  if (signal.aborted) return;
  if ((q?.oldest ?? null) === null) numbers.set('oldest', '–', 'no job is queued', '#/queues');
  else numbers.set('oldest', milliseconds(q.oldest), show(q.name), queueAddress(q.name));
}

export async function viewOverview({ root, query, signal }) {
  const numbers = tiles([
    { name: 'len', label: 'Queued', kind: 'queued', href: '#/queues?sort=len&order=down' },
    { name: 'active', label: 'Active', kind: 'active', href: '#/workers' },
    { name: 'delayed', label: 'Delayed', kind: 'delayed', href: '#/queues?sort=delayed&order=down' },
    { name: 'dead', label: 'Dead', kind: 'dead', href: '#/dead' },
    { name: 'oldest', label: 'Oldest queued job', kind: 'plain', href: '#/queues' },
  ]);
  const charts = courses({ queue: null, query, signal });
  const alerts = alertList();
  const longest = queueCard({
    title: 'Longest queues',
    order: 'len',
    name: 'len',
    empty: 'No job is queued.',
    columns: [figure('Queued', 'len'), figure('Active', 'active'), OLDEST, LATENCY],
    href: '#/queues?sort=len&order=down',
    all: 'All queues',
    signal,
  });
  const dead = queueCard({
    title: 'Dead jobs by queue',
    order: 'dead',
    name: 'dead',
    empty: 'No job is dead.',
    columns: [figure('Dead', 'dead')],
    href: '#/dead',
    all: 'All dead jobs',
    signal,
  });

  root.append(
    element('header', { class: 'head' }, element('h1', {}, 'Overview'), charts.ranges),
    alerts.root,
    numbers.root,
    charts.root,
    element('div', { class: 'pair' }, longest.root, dead.root),
  );

  onFigures(({ server }) => {
    if (server === undefined) return;
    longest.link.textContent = `All ${plural(server.queues, 'queue')}`;
    numbers.set('len', count(server.len), `in ${plural(server.queues, 'queue')}`);
    numbers.set('active', count(server.active), `${plural(server.blocked, 'idle worker')}`);
    const waiting = server.waiting + server.after;
    numbers.set('delayed', count(server.delayed), waiting > 0 ? `${count(waiting)} wait for other jobs` : '');
    numbers.set('dead', count(server.dead), server.dead > 0 ? 'dead letters' : '');
    alerts.setDatabase(server.database_connected);
  }, signal);

  every(5000, signal, () => Promise.all([longest.update(), dead.update(), showOldest(numbers, signal)]));
  // A user without the right to run DOCTOR sees no alerts.
  every(30000, signal, () =>
    findings(signal)
      .then(alerts.setFindings)
      .catch(() => {}),
  );
}
