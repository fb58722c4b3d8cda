// Recurring jobs: their next ticks; add, remove, run now.
import { fields, run } from './api.js';
import { actionButton } from './actions.js';
import { queueLink, timeNode } from './cells.js';
import { ADDJOB_OPTIONS, bodyField, headerWords, moreFields, optionWords, wordOfBody } from './job_form.js';
import { keyOf, preview, show } from './bytes.js';
import { confirmAction, formDialog, showDialog } from './dialog.js';
import { bdi, button, element, facts, head, repeat } from './dom.js';
import { ago, count, duration, fromNow, time } from './format.js';
import { jobAddress } from './router.js';
import { table } from './table.js';
import { tell } from './toast.js';

const TICKS = 10;
const TIMES_HELP =
  'As in crontab, with seconds as an optional first field; or @every 90s. TZ=Europe/Berlin may stand first.';
const FIELDS = [
  { name: 'name', label: 'Name', required: true, autofocus: true, help: 'A schedule of this name is replaced.' },
  { name: 'queue', label: 'Queue', required: true },
  { name: 'cron', label: 'Times', required: true, placeholder: '30 2 * * *', help: TIMES_HELP, wide: true },
  bodyField(),
];
const TICK_FIELDS = [
  {
    name: 'MISSED',
    label: 'Missed ticks',
    value: 'once',
    choices: { once: 'add one job', skip: 'add no job', all: 'add a job for each' },
  },
  {
    name: 'OVERLAP',
    label: 'The job of the tick before still exists',
    value: 'queue',
    choices: { queue: 'add a job all the same', skip: 'add no job', replace: 'replace that job' },
  },
];

async function addSchedule(reload) {
  const done = await formDialog({
    title: 'Add a schedule',
    groups: [
      { fields: FIELDS },
      { title: 'Further options', folds: true, fields: [...TICK_FIELDS, ...moreFields(ADDJOB_OPTIONS)] },
    ],
    label: 'Add the schedule',
    submit: (values) =>
      run([
        'SCHEDULE',
        values.name,
        values.cron,
        values.queue,
        wordOfBody(values),
        ...optionWords(values, [...ADDJOB_OPTIONS, 'MISSED', 'OVERLAP']),
        ...headerWords(values),
      ]),
  });
  if (!done) return;
  tell('The schedule is added.');
  reload();
}

async function removeSchedule(schedule, reload) {
  const name = show(schedule.name);
  if (
    !(await confirmAction(
      `Remove the schedule ${name}?`,
      'Its jobs stay. It adds no further jobs.',
      'Remove the schedule',
    ))
  )
    return;
  const removed = await run(['UNSCHEDULE', schedule.name]);
  tell(removed === 1 ? `The schedule ${name} is removed.` : `The schedule ${name} does not exist.`);
  reload();
}

async function runNow(schedule) {
  const id = await run(['RUNSCHEDULE', schedule.name]);
  tell(`The job of ${show(schedule.name)} is added.`, jobAddress(id));
}

function positive(n, format) {
  return n ? format(n) : undefined;
}

// The facts that the server tells a user who may read the queue of the schedule.
function jobFacts(s) {
  return [
    ['Body', element('code', {}, bdi(preview(s.job)))],
    ['Overlap', show(s.overlap)],
    ['Priority', positive(s.priority, count)],
    ['Delay', positive(s.delay, duration)],
    ['Retry', positive(s.retry, duration)],
    ['Time to live', positive(s.ttl, duration)],
    ['Attempts', positive(s.attempts, count)],
    ['Back-off', positive(s.backoff, duration)],
    ['Maximum length', positive(s.maxlen, count)],
    ...['deadqueue', 'unique', 'group']
      .filter((name) => s[name] !== null)
      .map((name) => [{ deadqueue: 'Dead queue', unique: 'Unique key', group: 'Group' }[name], bdi(show(s[name]))]),
    ...Object.entries(s.headers ?? {}).map(([name, text]) => [`Header ${show(name)}`, bdi(show(text))]),
  ];
}

async function details(schedule) {
  const [s] = (await run(['SCHEDULES', schedule.name, 'NEXT', TICKS])).map(fields);
  if (s === undefined) {
    tell(`The schedule ${show(schedule.name)} does not exist.`);
    return;
  }
  const ticks = (s.ticks ?? []).map((tick) => element('li', {}, `${time(tick * 1000)} (${fromNow(tick * 1000)})`));
  const content = element(
    'div',
    {},
    facts([
      ['Times', element('code', {}, show(s.cron))],
      ['Queue', bdi(show(s.queue))],
      ['Missed ticks', show(s.missed)],
      ...(s.job === undefined ? [] : jobFacts(s)),
    ]),
    element('h3', {}, 'Next ticks'),
    ticks.length > 0 ? element('ol', { class: 'ticks' }, ticks) : element('p', {}, 'There is no further tick.'),
  );
  await showDialog(show(s.name), content);
}

function actionsOf(schedule, reload) {
  return element(
    'div',
    { class: 'actions' },
    actionButton('Details', { command: 'SCHEDULES' }, () => details(schedule), { class: 'small' }),
    actionButton('Run now', { command: 'RUNSCHEDULE' }, () => runNow(schedule), { class: 'small' }),
    actionButton('Remove', { command: 'UNSCHEDULE' }, () => removeSchedule(schedule, reload), {
      class: 'small danger-text',
    }),
  );
}

export async function viewSchedules({ root, signal, reload }) {
  const seconds = (n) => (n === null ? null : n * 1000);
  const grid = table({
    caption: 'Schedules',
    empty: 'There are no schedules.',
    key: (s) => keyOf(s.name),
    columns: [
      {
        label: 'Name',
        class: 'wide',
        text: (s) => show(s.name),
        node: (s) => bdi(show(s.name), { class: 'name strong' }),
      },
      { label: 'Times', text: (s) => show(s.cron), node: (s) => element('code', {}, show(s.cron)) },
      { label: 'Queue', named: true, text: (s) => show(s.queue), node: (s) => queueLink(s.queue) },
      {
        label: 'Next tick',
        named: true,
        text: (s) => fromNow(seconds(s.next)),
        node: (s) => timeNode(seconds(s.next), fromNow(seconds(s.next))),
      },
      { label: 'Last tick', named: true, text: (s) => ago(seconds(s.last)), node: (s) => timeNode(seconds(s.last)) },
      { label: 'Actions', unseen: true, class: 'at-end', text: () => 'actions', node: (s) => actionsOf(s, reload) },
    ],
  });
  const load = async () => grid.update((await run(['SCHEDULES'], signal)).map(fields));

  await load();
  root.append(
    head(
      'Schedules',
      button('Refresh', reload),
      actionButton('Add a schedule', { command: 'SCHEDULE' }, () => addSchedule(reload), { class: 'primary' }),
    ),
    element('p', { class: 'muted' }, 'Each tick adds one job, for any number of servers. Times are in your time zone.'),
    grid.root,
  );
  repeat(5000, signal, () => load().catch(() => {}));
}
