// All queues: their figures, in pages; filter, order, pause.
import { run, runAll } from './api.js';
import { actionButton, report } from './actions.js';
import { keyOf, show } from './bytes.js';
import { addJobDialog } from './job_form.js';
import { formDialog } from './dialog.js';
import { badge, bdi, button, element, every, icon } from './dom.js';
import { limitsText, queueFigures } from './figures.js';
import { count, duration, milliseconds, plural } from './format.js';
import { pager } from './pager.js';
import { queueAddress, replaceQuery } from './router.js';
import { table } from './table.js';

const PAGE = 50;
// An order by a figure needs the figures of all queues that match.
const ORDERED_MAX = 2000;
const NAMES_MS = 10000;

async function allNames(least, signal) {
  const names = new Map();
  let cursor = '0';
  do {
    const words = ['QSCAN', cursor, 'COUNT', 10000, ...(least ? ['MINLEN', 1] : [])];
    const reply = await run(words, signal);
    cursor = show(reply[0]);
    for (const name of reply[1]) names.set(keyOf(name), { name, text: show(name) });
  } while (cursor !== '0');
  return [...names.values()];
}

async function readFigures(names, signal) {
  const replies = await runAll(
    names.map((entry) => ['QSTAT', entry.name]),
    signal,
  );
  return replies
    .map((reply, i) => {
      if (reply instanceof Error) return { name: names[i].name, problem: reply.message };
      return queueFigures(reply);
    })
    .filter((queue) => queue !== null);
}

function nameCell(q) {
  return [
    element('a', { href: queueAddress(q.name) }, bdi(show(q.name))),
    q.pause && q.pause !== 'none' ? badge(`paused ${q.pause}`, 'active') : '',
    q.problem ? element('small', { class: 'muted' }, bdi(q.problem)) : '',
  ];
}

function pauseButton(q, changed) {
  const paused = q.pause !== 'none';
  const label = `${paused ? 'Resume' : 'Pause'} ${show(q.name)}`;
  const node = actionButton(
    '',
    { command: 'PAUSE', name: q.name },
    async () => {
      await run(['PAUSE', q.name, paused ? 'none' : 'all']);
      changed();
    },
    { class: 'small icon-button', 'aria-label': label, title: label },
  );
  node.append(icon(paused ? 'play' : 'pause'));
  return node;
}

function columns(changed) {
  const figure = (label, name, sort = name) => ({
    label,
    number: true,
    optional: true,
    sort,
    text: (q) => count(q[name]),
  });
  return [
    {
      label: 'Queue',
      class: 'wide',
      sort: 'name',
      text: (q) => `${show(q.name)} ${q.pause} ${q.problem ?? ''}`,
      node: nameCell,
    },
    figure('Queued', 'len'),
    figure('Running', 'active'),
    figure('Delayed', 'delayed'),
    figure('Wait for jobs', 'held'),
    figure('Dead', 'dead'),
    figure('In', 'added'),
    figure('Out', 'delivered'),
    figure('Workers wait', 'waiting'),
    {
      label: 'Oldest',
      number: true,
      optional: true,
      sort: 'oldest',
      text: (q) => milliseconds(q.oldest),
    },
    { label: 'Wait p50', number: true, optional: true, sort: 'half', text: (q) => milliseconds(q.half) },
    { label: 'Wait p99', number: true, optional: true, sort: 'most', text: (q) => milliseconds(q.most) },
    { label: 'Idle', number: true, sort: 'idle', text: (q) => duration(q.idle) },
    { label: 'Limits', optional: true, text: limitsText },
    {
      label: 'Actions',
      unseen: true,
      class: 'at-end',
      text: (q) => q.pause ?? '',
      node: (q) => (q.problem ? '' : pauseButton(q, changed)),
    },
  ];
}

function compare(sort, descending) {
  const sign = descending ? -1 : 1;
  if (sort === 'name') return (a, b) => sign * show(a.name).localeCompare(show(b.name), 'en', { numeric: true });
  return (a, b) => sign * ((a[sort] ?? -1) - (b[sort] ?? -1)) || show(a.name).localeCompare(show(b.name));
}

export async function viewQueues({ root, query, signal }) {
  const state = {
    filter: query.filter ?? '',
    least: query.least === '1',
    sort: query.sort ?? 'name',
    descending: query.order === 'down',
    page: Math.max(0, Number(query.page ?? 1) - 1 || 0),
  };
  const summary = element('p', { class: 'muted', role: 'status' });
  const pages = pager((n) => change({ page: n }));
  const grid = table({
    caption: 'Queues',
    empty: 'No queue matches.',
    key: (q) => keyOf(q.name),
    columns: columns(redraw),
    onSort: (sort) => change({ sort, page: 0, descending: sort === state.sort ? !state.descending : sort !== 'name' }),
  });
  let names = [];

  function change(values) {
    Object.assign(state, values);
    replaceQuery({
      filter: state.filter,
      least: state.least ? '1' : '',
      sort: state.sort === 'name' ? '' : state.sort,
      order: state.descending ? 'down' : '',
      page: state.page > 0 ? state.page + 1 : '',
    });
    return redraw();
  }

  // Never fails. The user may leave the view while it reads.
  function redraw() {
    return draw().catch(report);
  }

  function matching() {
    const text = state.filter.toLowerCase();
    return text === '' ? names : names.filter((entry) => entry.text.toLowerCase().includes(text));
  }

  // The queues of the page, in order. Returns a note if there are too many queues for an order by a figure.
  async function pageOf(found) {
    const start = state.page * PAGE;
    if (state.sort === 'name' || found.length > ORDERED_MAX) {
      found.sort(compare('name', state.sort === 'name' && state.descending));
      return readFigures(found.slice(start, start + PAGE), signal);
    }
    return (await readFigures(found, signal)).sort(compare(state.sort, state.descending)).slice(start, start + PAGE);
  }

  async function draw() {
    const found = matching();
    if (state.page * PAGE >= found.length) state.page = 0;
    const wanted = JSON.stringify(state);
    const queues = await pageOf(found);
    if (signal.aborted || JSON.stringify(state) !== wanted) return;
    grid.update(queues);
    grid.sorted(state.sort, state.descending);
    pages.set(state.page, PAGE, found.length);
    const tooMany = state.sort !== 'name' && found.length > ORDERED_MAX;
    const text =
      `${plural(found.length, 'queue')}${found.length === names.length ? '' : ` of ${count(names.length)}`}` +
      (tooMany ? `. More than ${count(ORDERED_MAX)} match, so the order is by name: filter first.` : '.');
    if (summary.textContent !== text) summary.textContent = text;
  }

  async function load() {
    names = await allNames(state.least, signal);
    await draw();
  }

  const filter = element('input', {
    type: 'search',
    placeholder: 'Filter by name',
    'aria-label': 'Filter queues by name',
    value: state.filter,
    oninput: () => change({ filter: filter.value, page: 0 }),
  });
  const least = element('input', {
    type: 'checkbox',
    id: 'least',
    onchange: () => {
      change({ least: least.checked, page: 0 }).then(load).catch(report);
    },
  });
  least.checked = state.least;
  await load();
  root.append(
    element(
      'header',
      { class: 'head' },
      element('h1', {}, 'Queues'),
      element(
        'div',
        { class: 'actions' },
        filter,
        element('label', { class: 'check', for: 'least' }, least, 'with queued jobs'),
        button('Add a job', newJob, { class: 'primary' }),
      ),
    ),
    summary,
    grid.root,
    pages.root,
  );
  every(2000, signal, () => draw().catch(() => {}));
  every(NAMES_MS, signal, () => load().catch(() => {}));

  async function newJob() {
    let name = null;
    await formDialog({
      title: 'Add a job',
      fields: [
        {
          name: 'queue',
          label: 'Queue',
          required: true,
          autofocus: true,
          wide: true,
          help: 'The queue is created if it does not exist.',
        },
      ],
      label: 'Continue',
      submit: (values) => {
        name = values.queue;
      },
    });
    if (name !== null && (await addJobDialog(name))) load().catch(() => {});
  }
}
