// Jobs as SHOW describes them, and lists of jobs that are read in parts.
import { CommandError, fields, run, runAll } from './api.js';
import { preview, show } from './bytes.js';

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
  const age = Date.now() / 1000 - job.died;
  return (older === '' || age >= Number(older)) && (newer === '' || age <= Number(newer));
}

export const NO_FILTER = { error: '', header: '', text: '', older: '', newer: '' };

export const STATES = ['all', 'queued', 'active', 'delayed', 'dead', 'done'];

const SHOWN_AT_ONCE = 50;
const LOOKED_MAX = 10000;

// A reply of SHOW as an object, or null. The state delayed is the page's: the server calls delayed jobs active, and
// gives them no time for an early awakening.
export function readJob(reply) {
  if (reply === null) return null;
  const job = fields(reply);
  const waits = job['next-requeue-within'];
  job.created = Math.round(job.ctime / 1e6);
  if (job.state === 'active' && waits !== null && waits === job['next-awake-within']) job.state = 'delayed';
  return job;
}

// What a list shows of a job. The body is cut, so that a long list takes little memory.
function summary(job) {
  const { id, state, created, priority, nacks, attempts, deliveries, error, progress } = job;
  return {
    id,
    state,
    created,
    priority,
    nacks,
    attempts,
    deliveries,
    error: preview(error, 200),
    body: preview(job.body),
    progress: progress?.percent,
    waits: job['next-requeue-within'],
    finished: job['finished-at'],
    died: job['died-at'],
    again: job['additional-deliveries'],
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

// Describes jobs. Jobs that have ended are left out. The server refuses a reply that is too large; each job is then
// asked for alone.
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
  if (state === 'all') return ['STATE', 'active', 'STATE', 'queued', 'STATE', 'dead', 'STATE', 'done'];
  return ['STATE', state === 'delayed' ? 'active' : state];
}

/*
 * A list of the jobs of a queue in a state that a filter selects, in the order of the server. page(n, size, progress) returns
 * { jobs, more, looked } and reads only as far as that page needs. progress(looked) is called while the server looks
 * for jobs of a rare state.
 */
export function jobList(queue, state, signal, filter = NO_FILTER) {
  const jobs = [];
  let ids = [];
  let cursor = '0';
  let ended = false;
  let count = 100;
  let looked = 0;

  async function scan() {
    const words = ['JSCAN', cursor, 'COUNT', count, 'QUEUE', queue, ...scanWords(state), ...filterWords(filter)];
    const reply = await run(words, signal);
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
  }

  async function page(n, size, progress) {
    const end = (n + 1) * size;
    while (jobs.length < end && (ids.length > 0 || !ended)) {
      if (ids.length > 0) await take();
      else await scan();
      progress(looked);
    }
    return { jobs: jobs.slice(n * size, end), more: jobs.length > end || ids.length > 0 || !ended, looked };
  }

  return { page };
}
