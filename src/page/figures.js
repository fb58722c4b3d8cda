// The figures of a queue, as QSTAT and the stream of figures have them.
import { fields } from './api.js';

// The figures of a queue as an object, or null if the queue does not exist. Limits that the queue does not have
// are undefined. held: jobs that wait for other jobs, after: those of them
// that wait for predecessors. oldest: the age of the oldest queued job in milliseconds, null for
// an empty queue. half and most: the wait in milliseconds that half of the jobs, and 99 of 100 jobs, do not exceed.
export function queueFigures(reply) {
  if (reply === null || reply === undefined) return null;
  const q = fields(reply);
  return {
    name: q.name,
    len: q.len,
    dead: q.dead,
    delayed: q.delayed,
    active: q.active,
    held: q.waiting + q.after,
    after: q.after,
    kept: q.kept,
    oldest: q.len > 0 ? q['oldest-ms'] : null,
    half: q['latency-p50-ms'],
    most: q['latency-p99-ms'],
    idle: q.idle,
    waiting: q.blocked,
    added: q['jobs-in'],
    delivered: q['jobs-out'],
    pause: q.pause,
    maxActive: q['max-active'],
    rate: q.rate,
    running: q.running,
    perGroup: q['per-group'] === 1,
    retention: q.retention,
  };
}

export function limitsText(q) {
  const group = q.perGroup ? ' a group' : '';
  const parts = [];
  if (q.maxActive)
    parts.push(q.running === undefined ? `${q.maxActive} at once${group}` : `${q.running} of ${q.maxActive} at once`);
  if (q.rate) parts.push(`${q.rate}/s${group}`);
  return parts.join(', ');
}

// Returns a function of figures that gives the change of each counter a second since its last call.
export function rates(names) {
  let last = null;
  return (now, counters) => {
    const seconds = last === null ? 0 : (now - last.now) / 1000;
    const result = {};
    for (const name of names) {
      const change = seconds > 0 ? counters[name] - last.counters[name] : NaN;
      // A server that has restarted counts from 0.
      result[name] = change >= 0 ? change / seconds : null;
    }
    last = { now, counters: { ...counters } };
    return result;
  };
}
