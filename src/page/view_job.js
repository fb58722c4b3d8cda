// One job: what SHOW says, its body, and its actions.
import { CommandError, run } from './api.js';
import { actionButton } from './actions.js';
import { bodyView } from './body_view.js';
import { isBytes, show } from './bytes.js';
import { confirmAction, formDialog } from './dialog.js';
import { badge, bdi, button, card, element, facts, head } from './dom.js';
import { addJobDialog, bodyField, optionFields, optionWords, wordOfBody } from './job_form.js';
import { ago, count, duration, fromNow, plural, time } from './format.js';
import { ownCards, relationCards } from './job_cards.js';
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
  ['Waits for', (j) => (j.pending === undefined ? undefined : plural(j.pending, 'job'))],
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

function factsOf(job) {
  return FACTS.map(([label, value]) => [label, value(job)]);
}

// WORKING keeps a queued job out of its queue, and NACK delays any other job.
async function delayJob(job, reload) {
  const done = await formDialog({
    title: 'Delay the job',
    text: 'The job is queued again after this time.',
    fields: [{ name: 'seconds', label: 'Seconds', type: 'number', min: 1, value: 60, required: true, autofocus: true }],
    label: 'Delay',
    submit: async ({ seconds }) => {
      const words = job.state === 'queued' ? ['WORKING', job.id, seconds] : ['NACK', 'DELAY', seconds, job.id];
      if ((await run(words)) === 0)
        throw new CommandError('The server changed nothing: the job is not delivered again, or has ended.');
    },
  });
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

async function cancel(job, reload) {
  const text =
    job.state === 'active'
      ? 'Its worker is told to stop, and no worker gets the job again.'
      : 'No worker gets the job. Nothing brings it back.';
  if (!(await confirmAction('Cancel 1 job?', text, 'Cancel 1 job'))) return;
  const changed = await run(['CANCEL', job.id]);
  tell(changed === 1 ? 'The job is cancelled.' : 'The job had ended, or was cancelled before.');
  reload();
}

async function edit(job, reload) {
  const names = ['RETRY', 'ATTEMPTS', 'BACKOFF'];
  const preset = {
    body: job.body,
    RETRY: job.retry || undefined,
    ATTEMPTS: job.attempts || undefined,
    BACKOFF: job.backoff,
  };
  const format = isBytes(job.body) ? 'base64' : 'text';
  const done = await formDialog({
    title: 'Edit the dead job',
    fields: [bodyField(preset), ...optionFields(names, preset)],
    label: 'Save',
    submit: async (values) => {
      const words = ['EDITDEAD', job.id, 'BODY', wordOfBody({ ...values, format }), ...optionWords(values, names)];
      if ((await run(words)) === 0) throw new CommandError('The server changed nothing: the job is not dead any more.');
    },
  });
  if (!done) return;
  tell('The job is changed.');
  reload();
}

function copyOf(job) {
  const preset = { body: job.body, PRIORITY: job.priority || undefined, headers: job.headers };
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

// The actions of each state, the most important one last.
const ACTIONS = {
  queued: ['Delete', 'Cancel the job', 'Delay'],
  active: ['Delete', 'Cancel the job', 'Delay', 'Queue now'],
  delayed: ['Delete', 'Cancel the job', 'Delay', 'Queue now'],
  waiting: ['Delete', 'Cancel the job'],
  dead: ['Delete', 'Edit', 'Revive'],
  done: [],
};

function actionsOf(job, reload) {
  const danger = { class: 'danger-text' };
  const actions = {
    Delete: ['DELJOB', () => remove(job), danger],
    'Cancel the job': ['CANCEL', () => cancel(job, reload), danger],
    Delay: ['NACK', () => delayJob(job, reload)],
    Edit: ['EDITDEAD', () => edit(job, reload)],
    'Queue now': ['ENQUEUE', () => enqueue(job, reload), { class: 'primary' }],
    Revive: ['ENQUEUE', () => enqueue(job, reload), { class: 'primary' }],
  };
  const copy = () => addJobDialog(job.queue, copyOf(job), `Add a copy to ${show(job.queue)}`);
  const own = (ACTIONS[job.state] ?? []).map((label) => {
    const [command, work, attributes] = actions[label];
    return actionButton(label, { command, name: job.queue }, work, attributes);
  });

  return element(
    'div',
    { class: 'actions' },
    button('Refresh', reload),
    actionButton('Add a copy', { command: 'ADDJOB', name: job.queue }, copy),
    own,
  );
}

function textCard(title, value) {
  return card(title, null, bodyView(value, title.toLowerCase()));
}

function isGiven(value) {
  return value !== undefined && value !== null && (isBytes(value) || value !== '');
}

export async function viewJob({ root, parts, signal, reload }) {
  const id = parts[1];
  const job = readJob(await run(['SHOW', id], signal));

  const relations = await relationCards(id, signal);

  if (job === null && relations.length > 0) {
    root.append(head('Batch', button('Refresh', reload)), ...relations);
    return;
  }
  if (job === null) {
    root.append(
      head('Job', button('Refresh', reload)),
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
    ...ownCards(job),
    ...relations,
    ...(isGiven(job.result) ? [textCard('Result', job.result)] : []),
    card('Facts', null, facts(factsOf(job))),
    textCard('Body', job.body),
  );
}
