// The parts of a job that only some jobs have: progress, errors of its attempts, headers, predecessors, batch.
import { CommandError, noteRefusal, refusalOf, run } from './api.js';
import { jobLink, queueLink, timeNode } from './cells.js';
import { headline, preview, show, textOf } from './bytes.js';
import { badge, bdi, card, element, facts } from './dom.js';
import { count, time } from './format.js';
import { jobAddress } from './router.js';
import { table } from './table.js';

export function headersCard({ headers }) {
  if (!headers) return null;
  const rows = Object.entries(headers).map(([name, text]) => [bdi(show(name)), bdi(show(text))]);
  return card('Headers', null, facts(rows));
}

export function progressCard({ at, percent, text }) {
  return card(
    'Progress',
    timeNode(at),
    element('progress', { max: 100, value: percent, 'aria-label': 'Progress of the job' }),
    element('p', {}, `${count(percent)} %`, text ? ': ' : '', text ? bdi(show(text)) : ''),
  );
}

function attemptLine({ attempt, at, error }) {
  const text = textOf(error);
  const line = [
    element('span', { class: 'muted' }, `Attempt ${count(attempt)}, `, timeNode(at)),
    bdi(preview(headline(error), 300)),
  ];
  if (!text.trim().includes('\n')) return element('li', {}, line);
  return element('li', {}, element('details', {}, element('summary', {}, line), element('pre', { tabindex: 0 }, text)));
}

// The errors of a job, the newest first. If the only error is the beginning of the error of the job, the card is left out,
// because the job has a card of that error.
export function attemptsCard({ errors, error }) {
  if (!errors?.length) return null;
  if (errors.length === 1 && error && textOf(error).startsWith(textOf(errors[0].error))) return null;
  return card('Failed attempts', null, element('ol', { class: 'attempts' }, errors.map(attemptLine).reverse()));
}

function predecessorsCard(list) {
  const result = ([, , value]) => (value === null ? '–' : preview(value));
  const grid = table({
    caption: 'Predecessors',
    empty: 'The job waits for no other job.',
    key: ([id]) => id,
    columns: [
      { label: 'Job', text: ([id]) => id, node: ([id]) => jobLink(id) },
      { label: 'State', text: ([, state]) => state, node: ([, state]) => badge(state) },
      {
        label: 'Result',
        class: 'wide',
        text: result,
        node: (row) => element('code', { class: 'preview' }, bdi(result(row))),
      },
    ],
  });
  grid.update(list);
  return card('Predecessors', null, grid.root);
}

function batchCard(batch) {
  const ended = batch.total - batch.pending;
  const at = (seconds) => (seconds === null ? undefined : time(seconds * 1000));
  const some = (n) => (n > 0 ? count(n) : undefined);
  return card(
    'Batch',
    badge(batch.state),
    element('progress', { max: Math.max(1, batch.total), value: ended, 'aria-label': 'Progress of the batch' }),
    element('p', {}, `${count(ended)} of ${count(batch.total)} jobs have ended.`),
    facts([
      ['ID', element('a', { href: jobAddress(batch.id) }, element('code', {}, batch.id))],
      ['Queue', queueLink(batch.queue)],
      ['Done', some(batch.done)],
      ['Failed', some(batch.failed)],
      ['Cancelled', some(batch.cancelled)],
      ['Created', at(batch['created-at'])],
      ['Closed', at(batch['closed-at'])],
      ['First failure', at(batch['failed-at'])],
      ['Complete', at(batch['completed-at'])],
      ['Outer batch', batch.parent ? jobLink(batch.parent) : undefined],
    ]),
  );
}

// The reply of a command about the relations of a job, or null if the server replies an error.
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

// The cards of the predecessors and of the batch. id: the ID of a job or of a batch.
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
