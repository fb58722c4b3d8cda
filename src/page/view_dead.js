// The dead jobs of all queues: their numbers by queue and by error, and the list of the jobs.
import { run } from './api.js';
import { nameColumn, timeNode } from './cells.js';
import { keyOf } from './bytes.js';
import { bdi, button, card, element, head, repeat } from './dom.js';
import { readFigures } from './figures.js';
import { ago, count, plural } from './format.js';
import { jobsCard } from './jobs_card.js';
import { jobList, NO_FILTER } from './jobs.js';
import { table } from './table.js';

const QUEUES_MAX = 1000;
const LISTED = 6;
const REFRESH_MS = 5000;
// The view counts the errors of this many jobs, the jobs that died last.
const SAMPLE = 1000;

async function deadQueues(signal) {
  const [, names] = await run(['QSCAN', '0', 'COUNT', QUEUES_MAX, 'ORDER', 'dead'], signal);
  return (await readFigures(names, signal)).filter((q) => q.dead > 0);
}

// The error without its addresses and numbers, because these differ between jobs. A number that looks like a status stays.
function errorKind(error) {
  const varies = /0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}|\d+(\.\d+)*/gi;
  return error.replace(varies, (text) => (/^[1-5]\d\d$/.test(text) ? text : '…'));
}

// The longest part of an error as a list shows it, without characters that show() has escaped.
function longestPart(text) {
  return text.split(/…|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}/).reduce((a, b) => (b.length > a.length ? b : a));
}

// The jobs in groups by the kind of their error, the largest group first. label: the error if all jobs of the group have the
// same error, otherwise the kind. text: a part of the errors of all jobs of the group.
function errorGroups(jobs) {
  const groups = new Map();
  for (const { error, died } of jobs) {
    const kind = errorKind(error);
    const group = groups.get(kind) ?? { kind, label: error, text: longestPart(error), count: 0, last: 0 };
    if (error !== group.label) Object.assign(group, { label: kind, text: longestPart(kind) });
    group.count++;
    group.last = Math.max(group.last, died);
    groups.set(kind, group);
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

// A click on an error calls choose(text), which lists the jobs whose error contains the text.
function errorTable(choose) {
  const link = (g) =>
    button(bdi(g.label || 'no error'), () => choose(g.text), { class: 'link error-text', title: g.label });
  return table({
    caption: 'Dead jobs by error',
    empty: 'No job is dead.',
    key: (g) => g.kind,
    columns: [
      { label: 'Error', class: 'wide', text: (g) => `${g.label} ${g.text}`, node: link },
      { label: 'Newest', named: true, text: (g) => ago(g.last), node: (g) => timeNode(g.last) },
      { label: 'Dead', number: true, text: (g) => count(g.count) },
    ],
  });
}

export async function viewDead({ root, query, signal }) {
  let queues = await deadQueues(signal);
  const total = () => queues.reduce((sum, q) => sum + q.dead, 0);
  const summary = element('p', { class: 'muted', role: 'status' });
  const byQueue = table({
    caption: 'Dead jobs by queue',
    empty: 'No job is dead.',
    key: (q) => keyOf(q.name),
    columns: [
      { ...nameColumn({ query: { state: 'dead' } }), sort: null },
      { label: 'Dead', number: true, text: (q) => count(q.dead) },
    ],
  });
  const byError = errorTable((text) => jobs.filter.set('error', text));
  const note = element('span', { class: 'muted' });
  const jobs = jobsCard({ queue: null, query, signal, total, deadQueues: () => queues.map((q) => q.name) });
  let sampled = null;

  function draw() {
    const text = `${plural(total(), 'dead job')} in ${plural(queues.length, 'queue')}.`;
    if (summary.textContent !== text) summary.textContent = text;
    note.textContent = total() > SAMPLE ? `of the last ${count(SAMPLE)} jobs` : '';
    byQueue.update(queues.slice(0, LISTED));
    jobs.drawTotals();
  }

  async function countErrors() {
    if (sampled === total()) return;
    sampled = total();
    const list = jobList({ queue: null, state: 'dead', filter: NO_FILTER, newest: true, total: total(), signal });
    try {
      const found = await list.page(0, SAMPLE, () => true);
      byError.update(errorGroups(found.jobs).slice(0, LISTED));
    } catch {
      sampled = null; // The next refresh tries again.
    }
  }

  async function refresh() {
    queues = await deadQueues(signal).catch(() => queues);
    draw();
    await countErrors();
  }

  root.append(
    head('Dead jobs'),
    summary,
    element('div', { class: 'pair' }, card('By error', note, byError.root), card('By queue', null, byQueue.root)),
    jobs.root,
  );
  draw();
  countErrors();
  repeat(REFRESH_MS, signal, refresh);
}
