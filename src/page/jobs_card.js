// The jobs of a queue by state, or the dead jobs of all queues: in pages, with a filter, and actions on selected jobs.
import { run } from './api.js';
import { actionButton } from './actions.js';
import { deleteDead, reviveDead } from './dead_actions.js';
import { confirmAction } from './dialog.js';
import { button, element, repeat, segments } from './dom.js';
import { count, plural } from './format.js';
import { jobColumns } from './job_columns.js';
import { filterForm } from './job_filter.js';
import { AT_REST, jobPages } from './job_pages.js';
import { canBeNewest, isFiltered, STATES } from './jobs.js';
import { pager } from './pager.js';
import { replaceQuery } from './router.js';
import { table } from './table.js';
import { tell } from './toast.js';

const PAGE = 50;
const REFRESH_MS = 5000;
const UNREAD = { n: 0, jobs: [], more: true };

// The actions on selected jobs. Before an action with a text begins, a dialog shows the text and asks the user.
const REVIVE = { command: 'ENQUEUE', label: 'Revive', done: 'queued' };
const QUEUE_NOW = { command: 'ENQUEUE', label: 'Queue now', done: 'queued' };
const CANCEL = {
  command: 'CANCEL',
  label: 'Cancel',
  done: 'cancelled',
  text: 'The workers of active jobs are told to stop.',
};
const DELETE = { command: 'DELJOB', label: 'Delete', done: 'deleted', text: 'Nothing brings them back.' };

function actionsOf(jobs) {
  if (jobs.every((job) => job.state === 'dead')) return [REVIVE, DELETE];
  return jobs.some((job) => AT_REST.includes(job.state)) ? [QUEUE_NOW, DELETE] : [QUEUE_NOW, CANCEL, DELETE];
}

// The line above the list while jobs are selected. It calls changed() after an action.
function selectionBar(queue, selected, clear, changed) {
  const bar = element('div', { class: 'selection', hidden: true });

  async function act({ command, label, done, text }) {
    const jobs = plural(selected.size, 'job');
    if (text && !(await confirmAction(`${label} ${jobs}?`, text, `${label} ${jobs}`))) return;
    tell(`The server has ${done} ${plural(await run([command, ...selected.keys()]), 'job')}.`);
    selected.clear();
    await changed();
  }

  return {
    root: bar,
    draw() {
      const buttons = actionsOf([...selected.values()]).map((action) => {
        const needs = { command: action.command, name: queue ?? undefined };
        return actionButton(action.label, needs, () => act(action), {
          class: `small ${action.text ? 'danger-text' : ''}`,
        });
      });
      bar.hidden = selected.size === 0;
      bar.replaceChildren(
        element('span', {}, `${plural(selected.size, 'job')} selected`),
        ...buttons,
        button('Clear', clear, { class: 'small' }),
      );
    },
  };
}

// The names of the states with the numbers of their jobs, and the choice between them.
function stateTabs(current, total, choose) {
  const counts = Object.fromEntries(Object.keys(STATES).map((state) => [state, element('span', { class: 'count' })]));
  const labels = Object.fromEntries(
    Object.entries(STATES).map(([state, label]) => [state, [label, ' ', counts[state]]]),
  );
  return {
    root: segments('State of the jobs', labels, current, choose),
    draw() {
      for (const [state, node] of Object.entries(counts)) {
        const text = total(state) === undefined ? '' : count(total(state));
        if (node.textContent !== text) node.textContent = text;
        node.classList.toggle('none', text === '0');
      }
    },
  };
}

// The actions on all dead jobs that match. target(): that of dead_actions.js.
function bulkActions(queue, target, changed) {
  const root = element('div', { class: 'actions' });
  let drawn = null;
  const bulkButton = ({ label, command, work, style = '' }) => {
    const after = async () => {
      await work(target());
      await changed();
    };
    return actionButton(label, { command, name: queue ?? undefined }, after, { class: `small ${style}` });
  };
  return {
    root,
    draw(shown) {
      const { total, dead } = target();
      const which = total === null ? 'all that match' : `all ${count(total)}`;
      root.hidden = !shown || total === 0 || !dead;
      if (drawn === which) return;
      drawn = which;
      root.replaceChildren(
        bulkButton({ label: `Revive ${which}`, command: 'REVIVE', work: reviveDead }),
        bulkButton({ label: `Delete ${which}`, command: 'DELDEAD', work: deleteDead, style: 'danger-text' }),
      );
    },
  };
}

/*
 * queue: null for the dead jobs of all queues. total(state): the number of jobs in that state, or undefined if the view does
 * not know it. deadQueues(): the queues that have dead jobs. Returns { root, reload, filter, drawTotals() }.
 */
export function jobsCard({ queue, query, signal, total, deadQueues }) {
  let state = queue === null ? 'dead' : Object.hasOwn(STATES, query.state) ? query.state : 'all';
  let newest = query.order === undefined ? null : query.order === 'newest';
  let shown = UNREAD;
  const selected = new Map();
  const status = element('p', { class: 'muted', role: 'status' });
  const withState = () => state === 'all';
  const columns = jobColumns({ select, all: selectAll, withQueue: queue === null, withState });
  const grid = table({ caption: 'Jobs', empty: 'No such job.', key: (job) => job.id, columns });
  const filter = filterForm({ query, changed: () => change({}) });
  const tabs = stateTabs(state, total, (value) => change({ state: value, newest: null }));
  const selection = selectionBar(queue, selected, () => selectAll(false), reload);
  const bulk = bulkActions(queue, deadTarget, reload);
  const order = element(
    'select',
    { class: 'small', 'aria-label': 'Order of the jobs', onchange: () => change({ newest: order.value === 'newest' }) },
    element('option', { value: 'newest' }, 'Newest first'),
    element('option', { value: 'oldest' }, 'Oldest first'),
  );
  const list = jobPages({ size: PAGE, options, signal, show, tell: (text) => (status.textContent = text) });
  const pages = pager((n) => list.go(n).then(() => root.scrollIntoView({ block: 'start' })));

  function options() {
    const wanted = { queue, state, filter: filter.value(), total: total(state), signal };
    return { ...wanted, newest: canBeNewest(wanted) && (newest ?? AT_REST.includes(state)) };
  }

  // The card knows the number of dead jobs that match if the first page lists all of them.
  function deadTarget() {
    const listed = shown.n === 0 && !shown.more ? shown.jobs.length : null;
    const match = isFiltered(filter.value()) ? listed : total('dead');
    return { names: deadQueues(), filter: filter.value(), total: match, dead: total('dead') };
  }

  function drawBulk() {
    bulk.draw(state === 'dead' && selected.size === 0);
  }

  function drawActions() {
    for (const box of grid.root.querySelectorAll('td.select input')) box.checked = selected.has(box.value);
    columns[0].head.checked = selected.size > 0 && shown.jobs.every((job) => selected.has(job.id));
    selection.draw();
    drawBulk();
  }

  function select(job, checked) {
    if (checked) selected.set(job.id, job);
    else selected.delete(job.id);
    drawActions();
  }

  function selectAll(checked) {
    selected.clear();
    if (checked) for (const job of shown.jobs) selected.set(job.id, job);
    drawActions();
  }

  function show(page) {
    shown = page;
    grid.update(page.jobs);
    pages.set(page.n, PAGE, page.more ? null : page.n * PAGE + page.jobs.length, page.more);
    drawActions();
  }

  function reload() {
    shown = UNREAD;
    order.hidden = !canBeNewest(options());
    order.value = options().newest ? 'newest' : 'oldest';
    return list.begin();
  }

  function change(values) {
    ({ state, newest } = { state, newest, ...values });
    filter.setDead(state === 'dead');
    replaceQuery({
      ...filter.texts(),
      ...(queue === null ? {} : { state: state === 'all' ? '' : state }),
      order: newest === null ? '' : newest ? 'newest' : 'oldest',
    });
    selected.clear();
    return reload();
  }

  function drawTotals() {
    tabs.draw();
    drawBulk();
  }

  const root = element(
    'section',
    { class: 'card jobs', 'aria-label': 'Jobs' },
    element(
      'header',
      {},
      queue === null ? element('h2', {}, 'Jobs') : tabs.root,
      element('div', { class: 'actions' }, order, button('Refresh', reload, { class: 'small' })),
    ),
    element('div', { class: 'tools' }, filter.root, bulk.root),
    selection.root,
    status,
    grid.root,
    pages.root,
  );

  filter.setDead(state === 'dead');
  drawTotals();
  reload();
  repeat(REFRESH_MS, signal, () => selected.size > 0 || list.refresh());
  return { root, reload, filter, drawTotals };
}
