// The workers of all servers with their running jobs, and the workers of this server that wait for jobs.
import { fields, run, runAll } from './api.js';
import { actionButton, report } from './actions.js';
import { jobLink, queueLink } from './cells.js';
import { keyOf, show, textOf } from './bytes.js';
import { confirmAction } from './dialog.js';
import { badge, bdi, button, card, element, every, head } from './dom.js';
import { count, duration, milliseconds, plural } from './format.js';
import { table } from './table.js';
import { tell } from './toast.js';

const JOBS_MS = 2000;
// WORKERS reads the jobs of all queues. Before the page sends it again, it waits this many times as long as the reply took.
const PAUSES = 20;
// At first the page shows the jobs of this many workers.
const OPEN_MAX = 8;
const SHOWN_JOBS = 50;

// The rows of WORKERS as workers: { key, name, node, jobs, queues, ends }. The name is empty until the
// servers know it, about two seconds after the first job.
function readWorkers(reply) {
  const workers = new Map();
  for (const row of reply.map(fields)) {
    const key = `${row.node} ${keyOf(row.worker ?? '')}`;
    const worker = workers.get(key) ?? { key, name: row.worker, node: row.node, jobs: 0, queues: [], ends: null };
    const ends = row['next-requeue-within'];
    worker.jobs += row.jobs;
    worker.queues.push(row.queue);
    if (ends !== null) worker.ends = Math.min(ends, worker.ends ?? ends);
    workers.set(key, worker);
  }
  const byName = (a, b) => show(a.name).localeCompare(show(b.name), 'en', { numeric: true });
  return [...workers.values()].sort((a, b) => !a.name - !b.name || byName(a, b));
}

// The clients of this server that wait for jobs, as { id, name, waits }. A client without a name has its address.
function readIdle(text) {
  return textOf(text)
    .split('\n')
    .map((line) => Object.fromEntries(line.split(' ').map((word) => word.split(/=(.*)/s, 2))))
    .filter((client) => client.flags?.includes('b') && client.cmd !== 'waitjob')
    .map(({ id, name, addr, idle }) => ({ id, name: name || `${id}@${addr}`, waits: Number(idle) }));
}

function nameNodes(name) {
  const isAddress = /^\d+@\S+:\d+$/.test(show(name));
  return [
    bdi(show(name), { class: 'name strong' }),
    isAddress ? badge('no name', 'plain') : '',
    isAddress ? element('small', {}, 'Its program can give it a name by CLIENT SETNAME.') : '',
  ];
}

function markOpen(node, open) {
  node.textContent = open ? '▾' : '▸';
  node.setAttribute('aria-expanded', String(open));
}

async function release(worker, reload) {
  const jobs = plural(worker.jobs, 'running job');
  const text = `The server takes ${jobs} from this worker and queues them at once. A worker that still runs does them a second time.`;
  if (!(await confirmAction(`Release the jobs of ${show(worker.name)}?`, text, `Release ${jobs}`))) return;
  const released = await run(['RELEASE', 'WORKER', worker.name, 'NODE', worker.node]);
  tell(`The server has queued ${plural(released, 'job')}.`);
  await reload();
}

function progressNode({ progress }) {
  if (!progress) return '–';
  const text = progress.text ? `${progress.percent} %: ${show(progress.text)}` : `${progress.percent} %`;
  return [element('progress', { max: 100, value: progress.percent, 'aria-label': 'Progress' }), ' ', bdi(text)];
}

function jobsTable(worker) {
  return table({
    caption: `Running jobs of ${show(worker.name)}`,
    empty: 'This server has delivered no running job of the worker. Each server lists its own jobs.',
    key: (job) => job.id,
    columns: [
      { label: 'Job', text: (job) => job.id, node: (job) => jobLink(job.id) },
      {
        label: 'Queue',
        named: true,
        text: (job) => show(job.queue),
        node: (job) => queueLink(job.queue, { state: 'active' }),
      },
      { label: 'Runs for', named: true, text: (job) => duration((Date.now() - job.since) / 1000) },
      { label: 'Lease ends in', named: true, text: (job) => milliseconds(job['next-requeue-within']) },
      { label: 'Delivery', number: true, text: (job) => count(job.deliveries) },
      { label: 'Progress', class: 'wide', text: (job) => JSON.stringify(job.progress), node: progressNode },
    ],
  });
}

export async function viewWorkers({ root, signal }) {
  const opened = new Map();
  let workers = [];
  let begun = false;
  const summary = element('p', { class: 'muted', role: 'status' });
  const grid = table({
    caption: 'Workers',
    empty: 'No job is running.',
    key: (w) => w.key,
    more: (w) => opened.get(w.key)?.root ?? null,
    columns: [
      {
        label: 'Worker',
        class: 'wide',
        text: (w) => show(w.name),
        node: (w) =>
          w.name ? [toggle(w), ...nameNodes(w.name)] : element('span', { class: 'muted' }, 'not known yet'),
      },
      { label: 'Jobs', number: true, text: (w) => count(w.jobs) },
      {
        label: 'Queues',
        text: (w) => w.queues.map(show).join(' '),
        node: (w) => w.queues.map((q) => queueLink(q, { state: 'active' })),
      },
      { label: 'First lease ends in', number: true, text: (w) => milliseconds(w.ends) },
      {
        label: 'Server',
        named: true,
        text: (w) => w.node,
        node: (w) => element('code', { title: w.node }, w.node.slice(0, 8)),
      },
      {
        label: 'Actions',
        unseen: true,
        class: 'at-end',
        text: (w) => `${w.jobs}`,
        node: (w) =>
          w.name ? actionButton('Release', { command: 'RELEASE' }, () => release(w, load), { class: 'small' }) : '',
      },
    ],
  });
  const idle = table({
    caption: 'Idle workers',
    empty: 'No worker waits for jobs.',
    key: (client) => client.id,
    columns: [
      { label: 'Worker', class: 'wide', text: (client) => client.name, node: (client) => nameNodes(client.name) },
      { label: 'Waits for', number: true, text: (client) => duration(client.waits) },
    ],
  });
  const idleCard = card('Idle workers of this server', null, idle.root);

  function toggle(worker) {
    const node = button('', () => openJobs(worker, !opened.has(worker.key), node), {
      'aria-label': `Jobs of ${show(worker.name)}`,
      class: 'toggle',
    });
    markOpen(node, opened.has(worker.key));
    return node;
  }

  async function openJobs(worker, open, node) {
    if (open) opened.set(worker.key, jobsTable(worker));
    else opened.delete(worker.key);
    markOpen(node, open);
    grid.update(workers);
    await loadJobs().catch(report);
  }

  // Reads the jobs of the workers that are open. The server finds the jobs that it has delivered in its memory.
  async function loadJobs() {
    const shown = workers.filter((w) => opened.has(w.key));
    const replies = await runAll(
      shown.map((w) => ['WORKERS', 'JOBS', w.name, 'COUNT', SHOWN_JOBS]),
      signal,
    );
    shown.forEach((w, i) => {
      if (replies[i] instanceof Error) return;
      opened.get(w.key)?.update(replies[i].map(fields).filter((job) => job.node === w.node));
    });
  }

  // A user without the right to run CLIENT sees no idle workers.
  async function loadIdle() {
    const [text] = await runAll([['CLIENT', 'LIST']], signal);
    idleCard.hidden = text instanceof Error;
    if (!idleCard.hidden) idle.update(readIdle(text));
  }

  async function load() {
    workers = readWorkers(await run(['WORKERS'], signal));
    const named = workers.filter((w) => w.name);
    const total = workers.reduce((sum, w) => sum + w.jobs, 0);
    summary.textContent = `${plural(total, 'running job')}, ${plural(named.length, 'worker')} with jobs.`;
    if (!begun) for (const w of named.slice(0, OPEN_MAX)) opened.set(w.key, jobsTable(w));
    begun = true;
    grid.update(workers);
  }

  async function loadAgain() {
    for (let took = 0; !signal.aborted;) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(JOBS_MS, PAUSES * took)));
      const start = Date.now();
      if (!document.hidden) await load().catch(() => {});
      took = Date.now() - start;
    }
  }

  await load();
  root.append(
    head(
      'Workers',
      button('Refresh', () => load().catch(report)),
    ),
    summary,
    grid.root,
    idleCard,
  );
  every(JOBS_MS, signal, () => Promise.all([loadJobs(), loadIdle()]).catch(() => {}));
  loadAgain();
}
