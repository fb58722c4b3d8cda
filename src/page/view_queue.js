// A queue: its figures, their course, its jobs and its actions.
import { run } from './api.js';
import { actionButton, report } from './actions.js';
import { show } from './bytes.js';
import { courses } from './courses.js';
import { badge, bdi, element, facts } from './dom.js';
import { queueFigures, rates } from './figures.js';
import { addJobDialog } from './job_form.js';
import { jobsCard } from './jobs_card.js';
import { count, duration, milliseconds, rate } from './format.js';
import { follow, onFigures } from './live.js';
import { store, stored } from './prefs.js';
import { emptyQueue } from './queue_empty.js';
import { settingsDialog } from './queue_settings.js';
import { tell } from './toast.js';

const PAUSES = { none: 'Not paused', in: 'Input is paused', out: 'Output is paused', all: 'Paused' };
// A queue that QSTAT does not know may still have delayed jobs.
const MISSING = { pause: 'none', missing: true };
const NARROW = matchMedia('(max-width: 640px)');

function pauseControl(name, changed) {
  const select = element(
    'select',
    { 'aria-label': 'Pause of the queue' },
    Object.entries(PAUSES).map(([value, label]) => element('option', { value }, label)),
  );
  select.addEventListener('change', async () => {
    try {
      const state = show(await run(['PAUSE', name, select.value]));
      tell(`${show(name)}: ${(PAUSES[state] ?? state).toLowerCase()}.`);
    } catch (error) {
      if (error.code === 'NOPERM') {
        select.disabled = true;
        select.title = error.message;
      }
      report(error);
    }
    changed();
  });
  return select;
}

// The line of figures below the name. update(figures, rates) changes their texts.
function figureLine() {
  const rows = [
    ['Oldest queued', (q) => milliseconds(q.oldest)],
    ['Latency p50', (q) => milliseconds(q.half)],
    ['Latency p99', (q) => milliseconds(q.most)],
    ['In/s', (q, now) => rate(now.added)],
    ['Out/s', (q, now) => rate(now.delivered)],
    ['Idle workers', (q) => count(q.workers)],
    ['Keeps done jobs', (q) => (q.retention ? duration(q.retention) : '')],
    ['Limits', (q) => q.limits],
  ].map(([label, text]) => ({ label, text, node: element('span', {}, '–') }));
  const root = facts(rows.map(({ label, node }) => [label, node]));

  root.classList.add('line');
  return {
    root,
    update(figures, now) {
      for (const { text, node } of rows) {
        const value = figures.missing ? '–' : text(figures, now);
        if (node.textContent !== value) node.textContent = value;
        node.closest('div').hidden = value === '' || value === undefined;
      }
    },
  };
}

// The charts are open until the user closes them; on a narrow screen they are closed at first.
function chartsOf(name, query, signal) {
  const charts = courses({ queue: name, query, signal });
  const open = (stored('charts') ?? (NARROW.matches ? 'closed' : 'open')) === 'open';
  const root = element(
    'details',
    { class: 'charts', open },
    element('summary', {}, 'Charts'),
    charts.ranges,
    charts.root,
  );
  root.addEventListener('toggle', () => store('charts', root.open ? 'open' : 'closed'));
  return root;
}

export async function viewQueue({ root, parts, query, signal }) {
  const name = parts[1];
  let figures = queueFigures(await run(['QSTAT', name], signal)) ?? MISSING;
  const line = figureLine();
  const rateOf = rates(['added', 'delivered']);
  const state = element('span');
  const totals = (wanted) => (wanted === 'all' ? figures.all : wanted === 'queued' ? figures.len : figures[wanted]);
  const jobs = jobsCard({ queue: name, query, signal, total: totals, deadQueues: () => [name] });
  const pause = pauseControl(name, () => refresh().catch(report));

  function draw(now) {
    line.update(figures, rateOf(now, figures));
    jobs.drawTotals();
    if (document.activeElement !== pause) pause.value = figures.pause;
    state.replaceChildren(
      ...(figures.pause === 'none' ? [] : [badge(PAUSES[figures.pause].toLowerCase(), 'active')]),
      ...(figures.untaken ? [badge('no worker', 'active')] : []),
      ...(figures.missing ? [badge('has queued no job', 'plain')] : []),
    );
  }

  async function refresh() {
    figures = queueFigures(await run(['QSTAT', name], signal)) ?? MISSING;
    draw(Date.now());
  }

  // Reads the figures and the jobs after work that has changed them.
  const after = (work) => async () => {
    if (!(await work())) return;
    await refresh();
    await jobs.reload();
  };

  root.append(
    element('nav', { class: 'crumbs', 'aria-label': 'Path' }, element('a', { href: '#/queues' }, 'Queues')),
    element(
      'header',
      { class: 'head' },
      element('h1', {}, bdi(show(name), { class: 'name', title: show(name) }), ' ', state),
      element(
        'div',
        { class: 'actions' },
        pause,
        actionButton('Settings', { command: 'QCONFIG', name }, () => settingsDialog(name).then(refresh)),
        actionButton(
          'Delete jobs',
          { command: 'DEL', name },
          after(() => emptyQueue(name, figures)),
          { class: 'danger-text' },
        ),
        actionButton(
          'Add a job',
          { command: 'ADDJOB', name },
          after(() => addJobDialog(name)),
          { class: 'primary' },
        ),
      ),
    ),
    line.root,
    chartsOf(name, query, signal),
    jobs.root,
  );
  draw(Date.now());
  follow(name);
  signal.addEventListener('abort', () => follow(null));
  onFigures((data) => {
    if (data.queue === undefined) return;
    figures = queueFigures(data.queue) ?? MISSING;
    draw(data.now);
  }, signal);
}
