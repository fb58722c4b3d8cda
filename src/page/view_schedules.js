// Recurring jobs: their next ticks; add, remove, run now.
import { fields, run } from './api.js';
import { actionButton } from './actions.js';
import { addJobDialog, jobFields, optionWords, wordOfBody } from './job_form.js';
import { keyOf, show } from './bytes.js';
import { confirmAction, formDialog } from './dialog.js';
import { bdi, button, element, every } from './dom.js';
import { fromNow, time } from './format.js';
import { queueAddress } from './router.js';
import { table } from './table.js';
import { tell } from './toast.js';

async function addSchedule(reload) {
  const options = ['PRIORITY', 'DELAY', 'RETRY', 'TTL', 'MAXLEN', 'ATTEMPTS', 'BACKOFF', 'DEADQUEUE'];
  const done = await formDialog(
    'Add a schedule',
    [
      {
        name: 'name',
        label: 'Name',
        required: true,
        autofocus: true,
        help: 'An existing schedule of this name is replaced.',
      },
      {
        name: 'cron',
        label: 'Times',
        required: true,
        placeholder: '30 2 * * *',
        help: 'As in crontab, with seconds as an optional first field; or @every 90s. TZ=Europe/Berlin may stand first.',
      },
      { name: 'queue', label: 'Queue', required: true },
      {
        name: 'MISSED',
        label: 'Missed ticks',
        value: 'once',
        choices: [
          ['once', 'add one job'],
          ['skip', 'add no job'],
          ['all', 'add a job for each'],
        ],
      },
      ...jobFields(options),
    ],
    'Add the schedule',
    (values) =>
      run([
        'SCHEDULE',
        values.name,
        values.cron,
        values.queue,
        wordOfBody(values),
        ...optionWords(values, [...options, 'MISSED']),
      ]),
  );
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

// The job of a schedule and its options, if the server tells them.
function presetOf(schedule) {
  const preset = { body: schedule.job };
  for (const name of ['retry', 'ttl', 'delay', 'maxlen', 'priority', 'attempts', 'backoff', 'deadqueue']) {
    const value = schedule[name];
    if (value !== undefined && value !== null && value !== 0) preset[name.toUpperCase()] = value;
  }
  return preset;
}

async function runNow(schedule) {
  const reply = await run(['SCHEDULES', schedule.name]);
  const [found] = reply.map(fields);
  await addJobDialog(schedule.queue, presetOf(found ?? schedule), `Run ${show(schedule.name)} now`);
}

function actionsOf(schedule, reload) {
  return element(
    'div',
    { class: 'actions' },
    actionButton('Run now', { command: 'ADDJOB', name: schedule.queue }, () => runNow(schedule), { class: 'small' }),
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
      { label: 'Name', class: 'wide', text: (s) => show(s.name), node: (s) => bdi(show(s.name)) },
      { label: 'Times', text: (s) => show(s.cron), node: (s) => element('code', {}, show(s.cron)) },
      {
        label: 'Queue',
        text: (s) => show(s.queue),
        node: (s) => element('a', { href: queueAddress(s.queue) }, bdi(show(s.queue))),
      },
      {
        label: 'Next tick',
        text: (s) => fromNow(seconds(s.next)),
        node: (s) => element('time', { title: time(seconds(s.next)) }, fromNow(seconds(s.next))),
      },
      { label: 'Last tick', text: (s) => time(seconds(s.last)) },
      { label: 'Missed ticks', text: (s) => show(s.missed) },
      { label: 'Actions', unseen: true, text: () => 'actions', node: (s) => actionsOf(s, reload) },
    ],
  });
  const load = async () => grid.update((await run(['SCHEDULES'], signal)).map(fields));

  await load();
  root.append(
    element(
      'header',
      { class: 'head' },
      element('h1', {}, 'Schedules'),
      element(
        'div',
        { class: 'actions' },
        button('Refresh', reload),
        actionButton('Add a schedule', { command: 'SCHEDULE' }, () => addSchedule(reload), { class: 'primary' }),
      ),
    ),
    element('p', { class: 'muted' }, 'Each tick adds one job, for any number of servers. Times are in your time zone.'),
    grid.root,
  );
  every(5000, signal, () => load().catch(() => {}));
}
