// One job: what SHOW says, its body, and its actions.
import { CommandError, run } from './api.js';
import { actionButton } from './actions.js';
import { bodyView } from './body_view.js';
import { isBytes, show } from './bytes.js';
import { confirmAction, formDialog } from './dialog.js';
import { badge, bdi, button, element } from './dom.js';
import { addJobDialog } from './job_form.js';
import { ago, count, duration, fromNow, time } from './format.js';
import { readJob } from './jobs.js';
import { queueAddress } from './router.js';
import { tell } from './toast.js';

function wait(ms) {
  return ms === null ? 'never' : fromNow(Date.now() + ms);
}

const FACTS = [
  ['ID', (j) => element('code', {}, j.id)],
  ['Queue', (j) => element('a', { href: queueAddress(j.queue) }, bdi(show(j.queue)))],
  ['Created', (j) => `${time(j.created)} (${ago(j.created)})`],
  [
    'Next delivery',
    (j) => (j.state === 'active' || j.state === 'delayed' ? wait(j['next-requeue-within']) : undefined),
  ],
  [
    'Removed in',
    (j) => (j.state === 'dead' ? undefined : j.state === 'done' ? duration(j['kept-for']) : duration(j.ttl)),
  ],
  ['Finished', (j) => (j['finished-at'] ? time(j['finished-at']) : undefined)],
  ['Died', (j) => (j['died-at'] ? time(j['died-at'] * 1000) : undefined)],
  ['Worker', (j) => (j.worker ? bdi(show(j.worker)) : undefined)],
  ['Priority', (j) => count(j.priority)],
  ['Delay', (j) => duration(j.delay)],
  ['Retry', (j) => duration(j.retry)],
  ['Deliveries', (j) => (j.deliveries === undefined ? undefined : count(j.deliveries))],
  ['Attempts', (j) => (j.attempts ? count(j.attempts) : undefined)],
  ['Backoff', (j) => (j.backoff ? duration(j.backoff) : undefined)],
  ['Refused by workers', (j) => count(j.nacks)],
  ['Delivered again', (j) => count(j['additional-deliveries'])],
  ['Dead queue', (j) => (j.deadqueue ? bdi(show(j.deadqueue)) : undefined)],
  ['Unique key', (j) => (j.unique ? bdi(show(j.unique)) : undefined)],
  ['Group', (j) => (j.group ? bdi(show(j.group)) : undefined)],
  ['Copies', (j) => count(j.repl)],
];

function factList(job) {
  return element(
    'dl',
    { class: 'facts' },
    FACTS.map(([label, value]) => [label, value(job)])
      .filter(([, value]) => value !== undefined)
      .map(([label, value]) => element('div', {}, element('dt', {}, label), element('dd', {}, value))),
  );
}

// WORKING keeps a queued job out of its queue, and NACK delays any other job.
async function delayJob(job, reload) {
  const done = await formDialog(
    'Delay the job',
    [
      {
        name: 'seconds',
        label: 'Seconds',
        type: 'number',
        min: 1,
        value: 60,
        required: true,
        autofocus: true,
        help: 'The job is queued again after this time.',
      },
    ],
    'Delay',
    async ({ seconds }) => {
      const words = job.state === 'queued' ? ['WORKING', job.id, seconds] : ['NACK', 'DELAY', seconds, job.id];
      if ((await run(words)) === 0)
        throw new CommandError('The server changed nothing: the job is not delivered again, or has ended.');
    },
  );
  if (!done) return;
  tell('The job is delayed.');
  reload();
}

async function enqueue(job, reload) {
  const changed = await run(['ENQUEUE', job.id]);
  tell(changed === 1 ? 'The job is queued.' : 'The server changed nothing: the job is queued already, or has ended.');
  reload();
}

async function remove(job) {
  if (!(await confirmAction('Delete 1 job?', `The job ${job.id} is removed. Nothing brings it back.`, 'Delete 1 job')))
    return;
  const changed = await run(['DELJOB', job.id]);
  tell(changed === 1 ? 'The job is deleted.' : 'The job had ended before.');
  location.hash = queueAddress(job.queue);
}

function copyOf(job) {
  const preset = { body: job.body, PRIORITY: job.priority || undefined };
  for (const [option, name] of [
    ['ATTEMPTS', 'attempts'],
    ['BACKOFF', 'backoff'],
    ['DEADQUEUE', 'deadqueue'],
    ['RETRY', 'retry'],
  ]) {
    if (job[name]) preset[option] = job[name];
  }
  return preset;
}

function actionsOf(job, reload) {
  const needs = (command) => ({ command, name: job.queue });
  const ended = job.state === 'done';
  return element(
    'div',
    { class: 'actions' },
    button('Refresh', reload),
    actionButton('Add a copy', needs('ADDJOB'), () =>
      addJobDialog(job.queue, copyOf(job), `Add a copy to ${show(job.queue)}`),
    ),
    ended ? null : actionButton('Delete', needs('DELJOB'), () => remove(job), { class: 'danger-text' }),
    ended || job.state === 'dead' ? null : actionButton('Delay', needs('NACK'), () => delayJob(job, reload)),
    ended || job.state === 'queued'
      ? null
      : actionButton(job.state === 'dead' ? 'Revive' : 'Queue now', needs('ENQUEUE'), () => enqueue(job, reload), {
          class: 'primary',
        }),
  );
}

function textCard(title, value) {
  return element(
    'section',
    { class: 'card' },
    element('header', {}, element('h2', {}, title)),
    bodyView(value, title.toLowerCase()),
  );
}

function isGiven(value) {
  return value !== undefined && value !== null && (isBytes(value) || value !== '');
}

export async function viewJob({ root, parts, signal, reload }) {
  const id = parts[1];
  const job = readJob(await run(['SHOW', id], signal));

  if (job === null) {
    root.append(
      element('header', { class: 'head' }, element('h1', {}, 'Job'), button('Refresh', reload)),
      element(
        'p',
        { class: 'empty' },
        'The job ',
        element('code', {}, bdi(show(id))),
        ' does not exist: it was acknowledged, deleted or has expired, or it never existed.',
      ),
    );
    return;
  }
  root.append(
    element(
      'nav',
      { class: 'crumbs', 'aria-label': 'Path' },
      element('a', { href: '#/queues' }, 'Queues'),
      ' / ',
      element('a', { href: queueAddress(job.queue) }, bdi(show(job.queue))),
    ),
    element(
      'header',
      { class: 'head' },
      element('h1', {}, 'Job ', element('code', {}, job.id.slice(11, 23)), ' ', badge(job.state)),
      actionsOf(job, reload),
    ),
    ...(isGiven(job.error) ? [textCard('Error', job.error)] : []),
    ...(isGiven(job.result) ? [textCard('Result', job.result)] : []),
    element('section', { class: 'card' }, element('header', {}, element('h2', {}, 'Facts')), factList(job)),
    textCard('Body', job.body),
  );
}
