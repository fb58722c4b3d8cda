// The course of the last minutes, hours or days, from HISTORY.
import { fields, run } from './api.js';
import { every } from './dom.js';

// The ranges of HISTORY with their labels. The server keeps a day of a queue, and a week of itself.
export function ranges(queue) {
  return { MINUTES: '5 min', HOURS: '6 hours', DAYS: queue === null ? '7 days' : '24 hours' };
}

const LEVELS = ['len', 'active'];
const COUNTERS = ['added', 'delivered', 'acknowledged', 'failed'];
const DAY_MS = 24 * 3600 * 1000;
const SPANS_MS = { MINUTES: 5 * 60 * 1000, HOURS: 6 * 3600 * 1000, DAYS: 7 * DAY_MS };

// Nulls stand in place of the steps before the start of the server.
function readHistory(reply, range, queue) {
  const history = fields(reply);
  const { step, now } = history;
  const span = range === 'DAYS' && queue !== null ? DAY_MS : SPANS_MS[range];
  const length = Math.max(history.len.length, Math.round(span / step));
  const pad = (list) => [...Array(length - list.length).fill(null), ...list];
  const course = { since: history.since, times: Array.from({ length }, (_, i) => now - (length - 1 - i) * step) };
  for (const name of LEVELS) course[name] = pad(history[name]);
  for (const name of COUNTERS) course[name] = pad(history[name]).map((n) => (n === null ? null : (n * 1000) / step));
  return course;
}

/*
 * Calls draw(course) at once and for each new step, until the signal. queue is null for the whole server. A course has
 * times in milliseconds, and for each time the number of queued and active jobs and the rates a second. since: the begin of
 * the history, or null if the server keeps no history of the queue.
 */
export function timeline({ queue, range, signal, draw, fail }) {
  const words = ['HISTORY', ...(queue === null ? [] : [queue]), range];
  const wait = range !== 'MINUTES' ? 60000 : queue === null ? 2000 : 10000;

  every(wait, signal, async () => {
    try {
      draw(readHistory(await run(words, signal), range, queue));
    } catch (error) {
      if (!signal.aborted) fail(error);
    }
  });
}
