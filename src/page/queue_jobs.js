// The jobs of a queue by state, in pages, and actions on selected jobs.
import { run } from './api.js';
import { actionButton, report } from './actions.js';
import { confirmAction } from './dialog.js';
import { badge, bdi, button, element, every } from './dom.js';
import { count, duration, plural, time } from './format.js';
import { filterForm } from './job_filter.js';
import { jobList, STATES } from './jobs.js';
import { pager } from './pager.js';
import { jobAddress, replaceQuery } from './router.js';
import { table } from './table.js';
import { tell } from './toast.js';

const PAGE = 50;
const REFRESH_MS = 5000;

function waitText(job) {
  if (job.state === 'active' && job.waits !== null) return `lease ends in ${duration(job.waits / 1000)}`;
  if (job.state === 'delayed') return `queued in ${duration(job.waits / 1000)}`;
  if (job.state === 'dead' && job.died) return `died ${time(job.died * 1000)}`;
  if (job.state === 'done' && job.finished) return `done ${time(job.finished)}`;
  return '';
}

function attemptsText(job) {
  if (job.deliveries === undefined) return job.nacks || job.again ? count(job.nacks + job.again) : '–';
  return job.attempts ? `${job.deliveries} of ${job.attempts}` : String(job.deliveries);
}

function bodyCell(job) {
  return [
    element('code', { class: 'preview' }, bdi(job.body)),
    job.error ? element('small', { class: 'error-text' }, bdi(job.error)) : '',
  ];
}

function columns(selected, changed) {
  const box = (job) =>
    element('input', {
      type: 'checkbox',
      'aria-label': `Select job ${job.id}`,
      onchange: (event) => {
        if (event.target.checked) selected.add(job.id);
        else selected.delete(job.id);
        changed();
      },
    });
  return [
    { label: 'Select', unseen: true, class: 'select', text: (job) => job.id, node: box },
    {
      label: 'Job',
      text: (job) => job.id,
      node: (job) =>
        element('a', { href: jobAddress(job.id), title: job.id }, element('code', {}, job.id.slice(11, 23))),
    },
    { label: 'State', text: (job) => job.state, node: (job) => badge(job.state) },
    { label: 'Body', class: 'wide', text: (job) => `${job.body} ${job.error}`, node: bodyCell },
    { label: 'Created', text: (job) => time(job.created) },
    { label: 'Next', optional: true, text: waitText },
    {
      label: 'Progress',
      number: true,
      optional: true,
      text: (job) => (job.progress === undefined ? '–' : `${count(job.progress)} %`),
    },
    { label: 'Priority', number: true, text: (job) => job.priority ?? '–' },
    { label: 'Attempts', number: true, optional: true, text: attemptsText },
  ];
}

export function queueJobs({ name, query, signal }) {
  const selected = new Set();
  const status = element('p', { class: 'muted', role: 'status' });
  const grid = table({
    caption: 'Jobs',
    empty: 'No such job.',
    key: (job) => job.id,
    columns: columns(selected, drawSelection),
  });
  const pages = pager((n) => load(n));
  const tabs = element('div', { class: 'segments', role: 'group', 'aria-label': 'State of the jobs' });
  const selection = element('div', { class: 'selection', hidden: true });
  const filter = filterForm({ name, query, changed: () => changeFilter().catch(report) });
  let state = STATES.includes(query.state) ? query.state : 'all';
  let stop = new AbortController();
  let list = null;
  let page = 0;
  let busy = false;

  function drawSelection() {
    const jobs = plural(selected.size, 'job');
    selection.hidden = selected.size === 0;
    selection.replaceChildren(
      element('span', {}, `${jobs} selected`),
      actionButton('Queue now', { command: 'ENQUEUE', name }, () => act('ENQUEUE', 'has queued'), { class: 'small' }),
      actionButton(
        'Delete',
        { command: 'DELJOB', name },
        async () => {
          if (await confirmAction(`Delete ${jobs}?`, 'Nothing brings them back.', `Delete ${jobs}`))
            await act('DELJOB', 'has deleted');
        },
        { class: 'small danger-text' },
      ),
      button('Clear', clear, { class: 'small' }),
    );
  }

  function clear() {
    selected.clear();
    grid.root.querySelectorAll('.select input').forEach((box) => {
      box.checked = false;
    });
    drawSelection();
  }

  async function act(command, verb) {
    const changed = await run([command, ...selected]);
    tell(`The server ${verb} ${plural(changed, 'job')}.`);
    clear();
    reload();
  }

  async function load(n) {
    busy = true;
    const source = list;
    try {
      const { jobs, more, looked } = await source.page(n, PAGE, (sum) => {
        if (sum > 10000 && source === list) status.textContent = `The server has looked at ${count(sum)} jobs …`;
      });
      if (source !== list) return;
      page = n;
      status.textContent = looked > 10000 ? `The server has looked at ${count(looked)} jobs.` : '';
      grid.update(jobs);
      pages.set(n, PAGE, more ? null : n * PAGE + jobs.length, more);
    } catch (error) {
      if (source === list) status.textContent = error.name === 'AbortError' ? '' : error.message;
    } finally {
      if (source === list) busy = false;
    }
  }

  // Reads the first page anew.
  function reload() {
    stop.abort();
    stop = new AbortController();
    list = jobList(name, state, AbortSignal.any([signal, stop.signal]), filter.value());
    return load(0);
  }

  function changeFilter() {
    replaceQuery(filter.value());
    clear();
    return reload();
  }

  function choose(next) {
    state = next;
    filter.setDead(state === 'dead');
    for (const tab of tabs.children) tab.setAttribute('aria-pressed', String(tab.dataset.state === state));
    replaceQuery({ state: state === 'all' ? '' : state });
    clear();
    reload().catch(report);
  }

  // The list is read again while the user looks at its first page.
  every(REFRESH_MS, signal, async () => {
    const started = Date.now();
    if (list === null || busy || page > 0 || selected.size > 0) return;
    const fresh = jobList(name, state, signal, filter.value());
    const { jobs, more, looked } = await fresh.page(0, PAGE, () => {}).catch(() => ({ jobs: null }));
    if (jobs === null || busy || page > 0 || selected.size > 0 || looked > 10000) return;
    list = fresh;
    grid.update(jobs);
    pages.set(0, PAGE, more ? null : jobs.length, more);
    if (Date.now() - started > 1000) status.textContent = '';
  });

  tabs.append(
    ...STATES.map((value) =>
      button(value, () => choose(value), { 'data-state': value, 'aria-pressed': String(value === state) }),
    ),
  );
  filter.setDead(state === 'dead');
  reload();
  return {
    reload,
    root: element(
      'section',
      { class: 'card', 'aria-label': 'Jobs' },
      element('header', {}, element('h2', {}, 'Jobs'), tabs, button('Refresh', reload, { class: 'small' })),
      filter.root,
      selection,
      status,
      grid.root,
      pages.root,
    ),
  };
}
