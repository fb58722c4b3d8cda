// One queue: its figures, their course, its jobs and its actions.
import { run } from './api.js';
import { actionButton, report } from './actions.js';
import { show } from './bytes.js';
import { courses } from './courses.js';
import { badge, bdi, element } from './dom.js';
import { queueFigures, rates } from './figures.js';
import { addJobDialog } from './job_form.js';
import { count, duration, milliseconds, rate } from './format.js';
import { follow, onFigures } from './live.js';
import { queueJobs } from './queue_jobs.js';
import { settingsDialog } from './queue_settings.js';
import { reviveDead } from './revive.js';
import { tiles } from './tiles.js';
import { tell } from './toast.js';

const PAUSES = { none: 'Not paused', in: 'Input is paused', out: 'Output is paused', all: 'Paused' };

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

export async function viewQueue({ root, parts, query, signal }) {
  const name = parts[1];
  let figures = queueFigures(await run(['QSTAT', name], signal)) ?? { len: 0, dead: 0, pause: 'none', missing: true };
  const numbers = tiles([
    { name: 'len', label: 'Queued', kind: 'queued' },
    { name: 'active', label: 'Active', kind: 'active' },
    { name: 'delayed', label: 'Delayed', kind: 'delayed' },
    { name: 'held', label: 'Waiting' },
    { name: 'dead', label: 'Dead', kind: 'dead' },
    { name: 'added', label: 'In/s' },
    { name: 'delivered', label: 'Out/s' },
    { name: 'waiting', label: 'Idle workers' },
    { name: 'oldest', label: 'Oldest queued' },
    { name: 'latency', label: 'Latency' },
    { name: 'limits', label: 'Limits' },
  ]);
  const rateOf = rates(['added', 'delivered']);
  const state = element('span', { class: 'badges' });
  const charts = courses({ queue: name, query, signal });
  const jobs = queueJobs({ name, query, signal });
  const pause = pauseControl(name, () => refresh().catch(report));
  const revive = actionButton(
    'Revive all dead',
    { command: 'REVIVE', name },
    async () => {
      await reviveDead(name, figures.dead);
      jobs.reload();
    },
    { hidden: true },
  );

  function draw(now) {
    const change = rateOf(now, figures);
    for (const name of ['len', 'active', 'delayed', 'dead']) numbers.set(name, count(figures[name]));
    numbers.set('held', count(figures.waiting));
    for (const counter of ['added', 'delivered']) {
      numbers.set(counter, rate(change[counter]), `${count(figures[counter])} in total`);
    }
    numbers.set('waiting', count(figures.workers));
    numbers.set('oldest', milliseconds(figures.oldest));
    numbers.set('latency', milliseconds(figures.half), figures.most ? `99 %: ${milliseconds(figures.most)}` : '');
    numbers.set(
      'limits',
      figures.limits || 'none',
      figures.retention ? `keeps done jobs ${duration(figures.retention)}` : '',
    );
    if (document.activeElement !== pause) pause.value = figures.pause;
    revive.hidden = !figures.dead;
    state.replaceChildren(
      ...(figures.pause === 'none' ? [] : [badge(PAUSES[figures.pause].toLowerCase(), 'active')]),
      ...(figures.missing ? [badge('does not exist', 'plain')] : []),
    );
  }

  async function refresh() {
    figures = queueFigures(await run(['QSTAT', name], signal)) ?? { ...figures, missing: true };
    draw(Date.now());
  }

  root.append(
    element('nav', { class: 'crumbs', 'aria-label': 'Path' }, element('a', { href: '#/queues' }, 'Queues')),
    element(
      'header',
      { class: 'head' },
      element('h1', {}, bdi(show(name)), ' ', state),
      element(
        'div',
        { class: 'actions' },
        revive,
        pause,
        actionButton('Settings', { command: 'QCONFIG', name }, () => settingsDialog(name)),
        actionButton(
          'Add a job',
          { command: 'ADDJOB', name },
          async () => {
            if (await addJobDialog(name)) jobs.reload();
          },
          { class: 'primary' },
        ),
      ),
    ),
    numbers.root,
    element('details', { class: 'charts', open: true }, element('summary', {}, 'Charts'), charts.ranges, charts.root),
    jobs.root,
  );
  draw(Date.now());
  follow(name);
  signal.addEventListener('abort', () => follow(null));
  onFigures((data) => {
    const now = queueFigures(data.queue);
    if (now !== null) figures = now;
    draw(data.now);
  }, signal);
}
