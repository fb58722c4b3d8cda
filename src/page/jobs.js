// Jobs from replies of SHOW, and lists of jobs that the page reads in parts.
import { CommandError, fields, run, runAll } from './api.js';
import { headline, preview, show } from './bytes.js';

export const STATES = {
  all: 'All',
  queued: 'Queued',
  active: 'Active',
  delayed: 'Delayed',
  waiting: 'Waiting',
  dead: 'Dead',
  done: 'Done',
};

// A list of at most this many jobs is read as a whole, if the server cannot put the newest first.
const WHOLE_MAX = 1000;
const SHOWN_AT_ONCE = 50;
const LOOKED_MAX = 10000;

// The words that select jobs by an error and by headers, as JSCAN, REVIVE and DELDEAD take them.
export function filterWords({ error, header, text }) {
  return [
    ...(error ? ['ERROR', error] : []),
    ...(header ? (text ? ['HEADER', header, text] : ['HASHEADER', header]) : []),
  ];
}

// JSCAN has no ages, so the page compares them.
function hasAge(job, { older, newer }) {
  if (job.died === undefined) return true;
  const age = (Date.now() - job.died) / 1000;
  return (older === '' || age >= Number(older)) && (newer === '' || age <= Number(newer));
}

export const NO_FILTER = { error: '', header: '', text: '', older: '', newer: '' };

// A reply of SHOW as an object, or null. The state delayed is a state of the page only: the server calls a delayed job
// active, with a next-awake-within that is its next-requeue-within.
export function readJob(reply) {
  if (reply === null) return null;
  const job = fields(reply);
  const waits = job['next-requeue-within'];
  job.created = Math.round(job.ctime / 1e6);
  if (job['died-at']) job.died = job['died-at'] * 1000;
  if (job.state === 'active' && waits !== null && waits === job['next-awake-within']) job.state = 'delayed';
  return job;
}

// The members of a job that a list needs. The body is cut, so that a long list takes little memory.
function summary(job) {
  const { id, queue, state, created, died, priority, nacks, attempts, deliveries, progress } = job;
  const waits = job['next-requeue-within'];
  return {
    id,
    queue,
    worker: show(job.worker),
    state,
    created,
    died,
    priority,
    attempts,
    tried: deliveries ?? nacks + job['additional-deliveries'],
    error: preview(headline(job.error), 200),
    body: preview(job.body),
    progress: progress?.percent,
    finished: job['finished-at'],
    due: waits === null ? undefined : Date.now() + waits,
  };
}

async function showEach(ids, signal) {
  const replies = [];
  for (const id of ids) {
    try {
      replies.push(await run(['SHOW', id], signal));
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      replies.push(error);
    }
  }
  return replies;
}

// Describes jobs. Jobs that have ended are left out. If the server refuses the reply because it is too large, the page asks
// for each job alone.
async function describe(ids, signal) {
  let replies;
  try {
    replies = await runAll(
      ids.map((id) => ['SHOW', id]),
      signal,
    );
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    replies = await showEach(ids, signal);
  }
  return replies
    .map((reply, i) => {
      if (reply instanceof CommandError) return { id: show(ids[i]), state: '', body: `(${reply.message})` };
      return reply === null ? null : summary(readJob(reply));
    })
    .filter((job) => job !== null);
}

function scanWords(state) {
  if (state === 'all')
    return Object.keys(STATES)
      .filter((s) => !['all', 'delayed'].includes(s))
      .flatMap((s) => ['STATE', s]);
  return ['STATE', state === 'delayed' ? 'active' : state];
}

/*
 * A list of the jobs of a queue in a state that a filter selects, in the order of the server; queue is null for all
 * queues. newest: the dead jobs that died last come first. total: the number of jobs, or undefined; the search ends after
 * that number. page(n, size, progress) returns { jobs, more, looked } and reads only the jobs that the page needs. It
 * calls progress(looked) after each step of the search. The search stops if progress() returns false.
 */
function scanList({ queue, state, filter, newest, total, signal }) {
  const words = [
    ...(queue === null ? [] : ['QUEUE', queue]),
    ...scanWords(state),
    ...(newest ? ['ORDER', 'newest'] : []),
    ...filterWords(filter),
  ];
  const jobs = [];
  let ids = [];
  let cursor = '0';
  let ended = total === 0;
  let count = 100;
  let looked = 0;

  async function scan() {
    const reply = await run(['JSCAN', cursor, 'COUNT', count, ...words], signal);
    cursor = reply[0];
    ids = reply[1];
    ended = cursor === '0';
    looked += count;
    // Few jobs match, so the next step looks at more.
    if (ids.length * 2 < count) count = Math.min(count * 4, LOOKED_MAX);
  }

  async function take() {
    const part = await describe(ids.splice(0, SHOWN_AT_ONCE), signal);
    const wanted = state === 'all' ? part : part.filter((job) => job.state === state || job.state === '');
    jobs.push(...wanted.filter((job) => hasAge(job, filter)));
    if (jobs.length >= total) {
      ended = true;
      ids = [];
    }
  }

  async function page(n, size, progress) {
    const end = (n + 1) * size;
    while (jobs.length < end && (ids.length > 0 || !ended)) {
      if (ids.length > 0) await take();
      else await scan();
      if (progress(looked) === false) break;
    }
    return { jobs: jobs.slice(n * size, end), more: jobs.length > end || ids.length > 0 || !ended, looked };
  }

  return { page };
}

// The queued jobs of a queue, the newest first.
function peekList({ queue, signal }) {
  return {
    async page(n, size) {
      const found = await run(['QPEEK', queue, -((n + 1) * size + 1)], signal);
      const ids = found.slice(n * size, (n + 1) * size).map(([, id]) => id);
      return { jobs: await describe(ids, signal), more: found.length > (n + 1) * size, looked: 0 };
    },
  };
}

// The jobs of another state, the newest first. They are read as a whole.
function sortedList(options) {
  let whole = null;
  return {
    async page(n, size, progress) {
      whole ??= await scanList(options).page(0, WHOLE_MAX, progress);
      const { looked } = whole;
      const jobs = whole.jobs.sort((a, b) => (b.finished ?? b.created) - (a.finished ?? a.created));
      return { jobs: jobs.slice(n * size, (n + 1) * size), more: jobs.length > (n + 1) * size, looked };
    },
  };
}

export const isFiltered = (filter) => Object.values(filter).some((value) => value !== '');

// Returns true if jobList() can put the newest jobs first.
export function canBeNewest({ state, filter, total }) {
  if (state === 'queued') return !isFiltered(filter);
  return state === 'dead' || (state !== 'all' && total <= WHOLE_MAX);
}

export function jobList(options) {
  const { state, newest, filter, total } = options;
  const known = {
    ...options,
    newest: newest && state === 'dead',
    total: isFiltered(filter) && total > 0 ? undefined : total,
  };
  if (!newest || state === 'dead') return scanList(known);
  return state === 'queued' ? peekList(known) : sortedList(known);
}
