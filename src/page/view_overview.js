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
const CANDIDATES = 200;

// The queues with queued jobs. A rising least length keeps their number small; some then says that shorter queues were
// left out.
async function busiest(signal) {
  let names = [];
  let least = 1;
  for (; ; least *= 10) {
    const reply = await run(['QSCAN', '0', 'BUSYLOOP', 'MINLEN', least], signal);
    if (reply[1].length === 0) break;
    names = reply[1];
    if (names.length <= CANDIDATES) break;
  }
  const replies = await runAll(
    names.slice(0, CANDIDATES).map((name) => ['QSTAT', name]),
    signal,
  );
  const queues = replies
    .filter((reply) => !(reply instanceof Error))
    .map(queueFigures)
    .filter((q) => q !== null);
  return { queues, some: least > 1 };
}

// The first queues by a figure.
function mostBy(name, queues) {
  return queues
    .filter((q) => q[name] > 0)
    .sort((a, b) => b[name] - a[name])
    .slice(0, LISTED);
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
  const longest = queueTable('Longest queues');
  const oldest = queueTable('Oldest queued jobs');
  const amongLongest = element('span', { class: 'muted', hidden: true }, 'among the longest queues');
  const rateOf = rates(['added', 'delivered', 'acknowledged']);

  root.append(
    element('header', { class: 'head' }, element('h1', {}, 'Overview'), charts.ranges),
    alerts,
    numbers.root,
    charts.root,
    element(
      'div',
      { class: 'plots' },
      element(
        'section',
        { class: 'card' },
        element('header', {}, element('h2', {}, 'Longest queues'), element('a', { href: '#/queues' }, 'All queues')),
        longest.root,
      ),
      element(
        'section',
        { class: 'card' },
        element('header', {}, element('h2', {}, 'Oldest queued jobs'), amongLongest),
        oldest.root,
      ),
    ),
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

  every(5000, signal, async () => {
    const { queues, some } = await busiest(signal).catch(() => ({ queues: [], some: false }));
    if (signal.aborted) return;
    longest.update(mostBy('len', queues));
    oldest.update(mostBy('oldest', queues));
    amongLongest.hidden = !some;
  });
  // A user without the right to run DOCTOR sees no alerts.
  findings(signal)
    .then((list) => {
      alerts.replaceChildren(...alertList(list));
      alerts.hidden = alerts.children.length === 0;
    })
    .catch(() => {});
}
