// A job: its facts from SHOW, its body, and its actions.
import { CommandError, run } from './api.js';
import { actionButton } from './actions.js';
import { bodyCard, copyButton } from './body_view.js';
import { queueLink } from './cells.js';
import { isBytes, show } from './bytes.js';
import { confirmAction, formDialog } from './dialog.js';
import { badge, bdi, button, card, element, facts, head, repeat } from './dom.js';
import { addJobDialog, bodyField, optionFields, optionWords, wordOfBody } from './job_form.js';
import { ago, count, duration, fromNow, plural, time } from './format.js';
import { attemptsCard, headersCard, progressCard, relationCards } from './job_cards.js';
import { readJob } from './jobs.js';
import { queueAddress } from './router.js';
import { tell } from './toast.js';

const WATCH_MS = 3000;

function some(n) {
  return n > 0 ? count(n) : undefined;
}

function clock(ms) {
  return ms ? element('span', {}, time(ms), element('small', {}, ` ${ago(ms)}`)) : undefined;
}

// The facts of a job. A fact that the job does not have is undefined.
function factsOf(j) {
  const due = j['next-requeue-within'];
  const next = due === null ? 'never' : fromNow(Date.now() + due);
  const ends = { dead: undefined, done: j['kept-for'] }[j.state] ?? j.ttl;
  return facts([
    ['Queue', queueLink(j.queue)],
    ['Created', clock(j.created)],
    ['Died', clock(j.died)],
    ['Done', clock(j['finished-at'])],
    ['Lease ends', j.state === 'active' ? next : undefined],
    ['Due', j.state === 'delayed' ? next : undefined],
    ['Waits for', j.pending === undefined ? undefined : plural(j.pending, 'job')],
    ['Worker', j.worker ? bdi(show(j.worker)) : undefined],
    ['Attempts', j.attempts ? `${count(j.deliveries)} of ${count(j.attempts)}` : some(j.deliveries)],
    ['Failures', some(j.nacks)],
    ['Redeliveries', some(j['additional-deliveries'])],
    ['Priority', j.priority ? count(j.priority) : undefined],
    ['Retry', duration(j.retry)],
    ['Back-off', j.backoff ? duration(j.backoff) : undefined],
    ['Delay', j.delay ? duration(j.delay) : undefined],
    ['Is removed in', j.state === 'dead' ? undefined : duration(ends)],
    ['Queue of dead jobs', j.deadqueue ? queueLink(j.deadqueue) : undefined],
    ['Unique key', j.unique ? bdi(show(j.unique)) : undefined],
    ['Group', j.group ? bdi(show(j.group)) : undefined],
    ['ID', [element('code', {}, j.id), ' ', copyButton(j.id, 'Copy the ID')]],
  ]);
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
    // Another worker gets an active job, too.
    'Queue now': ['ENQUEUE', () => enqueue(job, reload), { class: job.state === 'active' ? '' : 'primary' }],
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
    actionButton('Add a copy', { command: 'ADDJOB', name: job.queue }, copy),
    own,
  );
}

function isGiven(value) {
  return value !== undefined && value !== null && (isBytes(value) || value !== '');
}

function textCard(title, value) {
  return isGiven(value) ? bodyCard(title, value) : null;
}

function missing(id) {
  return element(
    'p',
    { class: 'empty' },
    'The job ',
    element('code', {}, bdi(show(id))),
    ' does not exist: it was acknowledged, deleted or has expired, or it never existed.',
  );
}

// Shows the progress of the job. Reads the view again when the state of the job or the number of its
// deliveries changes. Waits while a dialog is open.
function watch(job, progress, signal, reload) {
  const mark = (j) => JSON.stringify([j?.state, j?.nacks, j?.['additional-deliveries']]);
  repeat(WATCH_MS, signal, async () => {
    if (document.querySelector('dialog')) return;
    const now = await run(['SHOW', job.id], signal).then(readJob, () => job);
    if (signal.aborted) return;
    if (mark(now) !== mark(job)) reload();
    else if (now?.progress) progress.replaceChildren(progressCard(now.progress));
  });
}

export async function viewJob({ root, parts, signal, reload }) {
  const id = parts[1];
  const job = readJob(await run(['SHOW', id], signal));
  const relations = await relationCards(id, signal);

  if (job === null) {
    root.append(
      head(relations.length > 0 ? 'Batch' : 'Job', button('Refresh', reload)),
      ...(relations.length > 0 ? relations : [missing(id)]),
    );
    return;
  }
  const progress = element('div', { class: 'slot' }, job.progress ? progressCard(job.progress) : null);
  const main = [
    textCard('Error', job.error),
    progress,
    attemptsCard(job),
    textCard('Result', job.result),
    bodyCard('Body', job.body),
    ...relations,
  ];
  root.append(
    element(
      'nav',
      { class: 'crumbs', 'aria-label': 'Path' },
      element('a', { href: '#/queues' }, 'Queues'),
      ' / ',
      queueLink(job.queue, { state: job.state === 'queued' ? '' : job.state }),
    ),
    element(
      'header',
      { class: 'head' },
      element('h1', {}, 'Job ', element('code', {}, job.id.slice(11, 23)), ' ', badge(job.state)),
      actionsOf(job, reload),
    ),
    element(
      'div',
      { class: 'beside' },
      element('div', {}, main),
      element('aside', { 'aria-label': 'Facts' }, card('Facts', null, factsOf(job)), headersCard(job)),
    ),
  );
  watch(job, progress, signal, reload);
}
