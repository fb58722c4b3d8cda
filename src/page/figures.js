// The figures of a queue, from a reply of QSTAT or from the stream of figures.
import { fields, runAll } from './api.js';

// A queue without workers is marked if its oldest job is older than this.
const UNTAKEN_MS = 60000;
const SOON_S = 0.5;

function periodText(seconds) {
  if (!seconds || seconds === 1) return '/s';
  const [size, unit] = [
    [86400, 'd'],
    [3600, 'h'],
    [60, 'm'],
    [1, 's'],
  ].find(([size]) => seconds % size === 0);
  return `/${seconds === size ? '' : seconds / size}${unit}`;
}

// "4 at once (1 in use), 30/m"
function limitsText(q) {
  const group = q['per-group'] === 1 ? ' a group' : '';
  const runs = q.running === undefined ? '' : ` (${q.running} in use)`;
  return [
    q['max-active'] ? `${q['max-active']} at once${group}${runs}` : '',
    q.rate ? `${q.rate}${periodText(q['rate-period'])}${group}` : '',
    q['server-max-active'] ? `${q['server-max-active']} a server` : '',
    q['group-max-active'] ? `${q['group-max-active']} a group` : '',
    q['group-rate'] ? `${q['group-rate']}${periodText(q['group-rate-period'])} a group` : '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}

/*
 * The figures of a queue as an object, or null if the queue does not exist. waiting: jobs that wait for other jobs. all:
 * jobs in any state. oldest: the age of the oldest queued job in milliseconds, null for an empty queue. half and most: the
 * latency in milliseconds that half of the jobs, and 99 of 100 jobs, do not exceed. workers: clients that wait for jobs.
 * untaken: no worker takes the queued jobs.
 */
export function queueFigures(reply) {
  if (reply === null || reply === undefined) return null;
  const q = fields(reply);
  const limits = limitsText(q);
  const oldest = q.len > 0 ? q['oldest-ms'] : null;
  return {
    name: q.name,
    len: q.len,
    dead: q.dead,
    delayed: q.delayed,
    active: q.active,
    waiting: q.waiting + q.after,
    all: q.len + q.active + q.delayed + q.waiting + q.after + q.dead + (q.kept ?? 0),
    done: q.kept,
    oldest,
    half: q['latency-p50-ms'],
    most: q['latency-p99-ms'],
    workers: q.blocked,
    added: q['jobs-in'],
    delivered: q['jobs-out'],
    pause: q.pause,
    limits,
    retention: q.retention,
    untaken: oldest > UNTAKEN_MS && q.active + q.blocked === 0 && limits === '' && ['none', 'in'].includes(q.pause),
  };
}

// The figures of these queues. If the user may not see the figures of a queue, the queue has { name, problem } only.
export async function readFigures(names, signal) {
  const replies = await runAll(
    names.map((name) => ['QSTAT', name]),
    signal,
  );
  return replies
    .map((reply, i) => (reply instanceof Error ? { name: names[i], problem: reply.message } : queueFigures(reply)))
    .filter((queue) => queue !== null);
}

// Returns a function (now, counters), which returns the change of each counter a second since its last call. If the last
// call is less than SOON_S old, the function returns the rates of that call again.
export function rates(names) {
  let last = null;
  let result = {};
  return (now, counters) => {
    const seconds = last === null ? 0 : (now - last.now) / 1000;
    if (seconds > 0 && seconds < SOON_S) return result;
    result = {};
    for (const name of names) {
      const change = seconds > 0 ? counters[name] - last.counters[name] : NaN;
      // A server that has restarted counts from 0.
      result[name] = change >= 0 ? change / seconds : null;
    }
    last = { now, counters: { ...counters } };
    return result;
  };
}
