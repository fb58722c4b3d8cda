// All queues: their figures, in pages; filter, order, pause.
import { run } from './api.js';
import { actionButton, report } from './actions.js';
import { nameColumn } from './cells.js';
import { keyOf, show } from './bytes.js';
import { addJobDialog } from './job_form.js';
import { formDialog } from './dialog.js';
import { button, element, head, icon, repeat } from './dom.js';
import { rates, readFigures } from './figures.js';
import { count, milliseconds, plural, rate } from './format.js';
import { pager } from './pager.js';
import { replaceQuery } from './router.js';
import { table } from './table.js';

const PAGE = 50;
// An order by a figure needs the figures of all queues that match. The page reads those of at most this many queues.
const ORDERED_MAX = 2000;
// The figures by which QSCAN orders any number of queues, with the names of these orders.
const SCAN_ORDERS = { len: 'len', oldest: 'age', dead: 'dead' };
const SCAN_MAX = 1000;
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

// Adds the rates since the last call to the figures of queues.
function rateMeter() {
  const meters = new Map();
  return (queues) => {
    for (const q of queues.filter(({ problem }) => !problem)) {
      const key = keyOf(q.name);
      if (!meters.has(key)) meters.set(key, rates(['added', 'delivered']));
      const now = meters.get(key)(Date.now(), q);
      Object.assign(q, { in: now.added, out: now.delivered });
    }
    return queues;
  };
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
  const figure = (label, sort, format = count) => ({ label, number: true, sort, text: (q) => format(q[sort]) });
  return [
    nameColumn({ limits: true }),
    figure('Queued', 'len'),
    figure('Active', 'active'),
    figure('Delayed', 'delayed'),
    figure('Waiting', 'waiting'),
    { ...figure('Dead', 'dead'), class: 'dead' },
    figure('In/s', 'in', rate),
    figure('Out/s', 'out', rate),
    figure('Idle workers', 'workers'),
    { ...figure('Oldest', 'oldest', milliseconds), optional: true },
    { ...figure('Latency p99', 'most', milliseconds), optional: true },
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
  const byName = (a, b) => show(a.name).localeCompare(show(b.name), 'en', { numeric: true });
  if (sort === 'name') return (a, b) => sign * byName(a, b);
  return (a, b) => sign * ((a[sort] ?? -1) - (b[sort] ?? -1)) || byName(a, b);
}

async function addToQueue(load) {
  let name = null;
  const help = 'The queue is created if it does not exist.';
  await formDialog({
    title: 'Add a job',
    fields: [{ name: 'queue', label: 'Queue', required: true, autofocus: true, wide: true, help }],
    label: 'Continue',
    submit: (values) => {
      name = values.queue;
    },
  });
  if (name !== null && (await addJobDialog(name))) load().catch(() => {});
}

export async function viewQueues({ root, query, signal }) {
  const state = {
    filter: show(query.filter),
    least: query.least === '1',
    sort: query.sort ?? 'name',
    descending: query.order === 'down',
    page: Math.max(0, Number(query.page ?? 1) - 1 || 0),
  };
  const summary = element('p', { class: 'muted', role: 'status' });
  const pages = pager((n) => change({ page: n }));
  const measure = rateMeter();
  const grid = table({
    caption: 'Queues',
    empty: 'No queue matches. A job is found by its whole ID.',
    key: (q) => keyOf(q.name),
    columns: columns(redraw),
    onSort: (sort) => change({ sort, page: 0, descending: sort === state.sort ? !state.descending : sort !== 'name' }),
  });
  let names = [];

  function change(values, read = redraw) {
    Object.assign(state, values);
    replaceQuery({
      filter: state.filter,
      least: state.least ? '1' : '',
      sort: state.sort === 'name' ? '' : state.sort,
      order: state.descending ? 'down' : '',
      page: state.page > 0 ? state.page + 1 : '',
    });
    return read();
  }

  // Never fails. The user may leave the view while it reads.
  function redraw() {
    return draw().catch(report);
  }

  function matching() {
    const text = state.filter.toLowerCase();
    return text === '' ? names : names.filter((entry) => entry.text.toLowerCase().includes(text));
  }

  // The names of the page, in order, and a note on that order. Their figures are read afterwards.
  async function pageOf(found) {
    const part = (list) => list.slice(state.page * PAGE, (state.page + 1) * PAGE);
    const read = (list) =>
      readFigures(
        list.map(({ name }) => name),
        signal,
      ).then(measure);
    if (state.sort !== 'name' && found.length <= ORDERED_MAX)
      return {
        queues: part((await read(found)).sort(compare(state.sort, state.descending))),
        total: found.length,
        note: '',
      };
    const order = state.filter === '' && state.descending && SCAN_ORDERS[state.sort];
    if (order) {
      const [, first] = await run(['QSCAN', '0', 'COUNT', SCAN_MAX, 'ORDER', order], signal);
      const queues = await read(part(first.map((name) => ({ name }))));
      return { queues, total: first.length, note: ` The first ${count(first.length)} are in order.` };
    }
    found.sort(compare('name', state.sort === 'name' && state.descending));
    const note =
      state.sort === 'name' ? '' : ` More than ${count(ORDERED_MAX)} match, so the order is by name: filter first.`;
    return { queues: await read(part(found)), total: found.length, note };
  }

  async function draw() {
    const found = matching();
    if (state.page * PAGE >= found.length) state.page = 0;
    const wanted = JSON.stringify(state);
    const { queues, total, note } = await pageOf(found);
    if (signal.aborted || JSON.stringify(state) !== wanted) return;
    grid.update(queues);
    grid.sorted(state.sort, state.descending);
    pages.set(state.page, PAGE, total);
    const all = found.length === names.length ? '' : ` of ${count(names.length)}`;
    const text = `${plural(found.length, 'queue')}${all}.${note}`;
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
    onchange: () => change({ least: least.checked, page: 0 }, () => load().catch(report)),
  });
  least.checked = state.least;
  await load();
  root.append(
    head(
      'Queues',
      filter,
      element('label', { class: 'check', for: 'least' }, least, 'with queued jobs'),
      button('Add a job', () => addToQueue(load), { class: 'primary' }),
    ),
    summary,
    grid.root,
    pages.root,
  );
  repeat(2000, signal, () => draw().catch(() => {}));
  repeat(NAMES_MS, signal, () => load().catch(() => {}));
}
