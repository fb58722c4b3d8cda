// The parts of a job that only some jobs have: headers, progress, errors, predecessors, batch.
import { CommandError, noteRefusal, refusalOf, run } from './api.js';
import { preview, show } from './bytes.js';
import { badge, bdi, card, element, facts } from './dom.js';
import { ago, count, time } from './format.js';
import { jobAddress, queueAddress } from './router.js';
import { table } from './table.js';

function headersCard(headers) {
  const rows = Object.entries(headers).map(([name, text]) => [bdi(show(name)), bdi(show(text))]);
  return card('Headers', null, facts(rows));
}

function progressCard({ at, percent, text }) {
  return card(
    'Progress',
    null,
    element('progress', { max: 100, value: percent, 'aria-label': 'Progress of the job' }),
    element('p', {}, `${count(percent)} %`, text ? ': ' : '', text ? bdi(show(text)) : ''),
    element('p', { class: 'muted' }, `${time(at)} (${ago(at)})`),
  );
}

function errorsCard(errors) {
  const grid = table({
    caption: 'Errors of all attempts',
    empty: 'No attempt has failed.',
    key: (entry) => String(errors.indexOf(entry)),
    columns: [
      { label: 'Attempt', number: true, text: (entry) => count(entry.attempt) },
      { label: 'Time', text: (entry) => time(entry.at) },
      {
        label: 'Error',
        class: 'wide',
        text: (entry) => show(entry.error),
        node: (entry) => element('span', { class: 'error-text' }, bdi(show(entry.error))),
      },
    ],
  });
  grid.update(errors);
  return card('Errors of all attempts', null, grid.root);
}

function predecessorsCard(list) {
  const grid = table({
    caption: 'Predecessors',
    empty: 'The job waits for no other job.',
    key: ([id]) => id,
    columns: [
      {
        label: 'Job',
        text: ([id]) => id,
        node: ([id]) => element('a', { href: jobAddress(id), title: id }, element('code', {}, id.slice(11, 23))),
      },
      { label: 'State', text: ([, state]) => state, node: ([, state]) => badge(state) },
      {
        label: 'Result',
        class: 'wide',
        text: ([, , result]) => (result === null ? '–' : preview(result)),
        node: ([, , result]) => (result === null ? '–' : element('code', { class: 'preview' }, bdi(preview(result)))),
      },
    ],
  });
  grid.update(list);
  return card('Predecessors', null, grid.root);
}

function batchCard(batch) {
  const ended = batch.total - batch.pending;
  const at = (seconds) => (seconds === null ? undefined : time(seconds * 1000));
  return card(
    'Batch',
    null,
    element('progress', { max: Math.max(1, batch.total), value: ended, 'aria-label': 'Progress of the batch' }),
    element('p', {}, `${count(ended)} of ${count(batch.total)} jobs have ended. `, badge(batch.state)),
    facts([
      ['ID', element('a', { href: jobAddress(batch.id) }, element('code', {}, batch.id))],
      ['Queue', element('a', { href: queueAddress(batch.queue) }, bdi(show(batch.queue)))],
      ['Pending', count(batch.pending)],
      ['Done', count(batch.done)],
      ['Failed', count(batch.failed)],
      ['Cancelled', count(batch.cancelled)],
      ['Created', at(batch['created-at'])],
      ['Closed', at(batch['closed-at'])],
      ['First failure', at(batch['failed-at'])],
      ['Complete', at(batch['completed-at'])],
      ['Outer batch', batch.parent ? element('a', { href: jobAddress(batch.parent) }, batch.parent) : undefined],
    ]),
  );
}

// The reply of a command that describes a job further, or null if the user may not run it.
async function ask(words, signal) {
  if (refusalOf(words[0]) !== undefined) return null;
  try {
    return await run(words, signal);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    if (error.code === 'NOPERM') noteRefusal(words[0], '', error);
    return null;
  }
}

// The cards of a batch and of predecessors. id: of a job, or of a batch.
export async function relationCards(id, signal) {
  const [predecessors, batch] = await Promise.all([
    ask(['PREDECESSORS', id], signal),
    ask(['BATCH', 'SHOW', id], signal),
  ]);
  return [
    ...(predecessors?.length ? [predecessorsCard(predecessors)] : []),
    ...(batch === null ? [] : [batchCard(batch)]),
  ];
}

// The cards of what SHOW says of the job.
export function ownCards(job) {
  return [
    ...(job.progress ? [progressCard(job.progress)] : []),
    ...(job.errors ? [errorsCard(job.errors)] : []),
    ...(job.headers ? [headersCard(job.headers)] : []),
  ];
}
