// The course of the last minutes, hours or days, from HISTORY and from the stream of figures.
import { fields, run } from './api.js';
import { every } from './dom.js';
import { rates } from './figures.js';
import { onFigures } from './live.js';

// The ranges of HISTORY with their labels. The server keeps a day of a queue, and a week of itself.
export function ranges(queue) {
  return { MINUTES: '5 min', HOURS: '6 hours', DAYS: queue === null ? '7 days' : '24 hours' };
}

const COUNTERS = ['added', 'delivered', 'acknowledged'];
const LEVELS = ['len', 'active'];
const DAY_MS = 24 * 3600 * 1000;
const SPANS_MS = { MINUTES: 5 * 60 * 1000, HOURS: 6 * 3600 * 1000, DAYS: 7 * DAY_MS };

// A server that has started a short time ago has few values. Nulls stand in place of the earlier ones.
function readHistory(reply, range, queue) {
  const history = fields(reply);
  const { step, now } = history;
  const span = range === 'DAYS' && queue !== null ? DAY_MS : SPANS_MS[range];
  const length = Math.max(history.len.length, Math.round(span / step));
  const pad = (list) => [...Array(length - list.length).fill(null), ...list];
  const course = { times: Array.from({ length }, (_, i) => now - (length - 1 - i) * step) };
  for (const name of LEVELS) course[name] = pad(history[name]);
  for (const name of COUNTERS) {
    course[name] = pad(history[name]).map((n) => (n === null ? null : (n * 1000) / step));
  }
  return course;
}

// Adds a second to the course, and removes the points that are older than five minutes.
function append(course, now, point) {
  course.times.push(now);
  for (const name of [...LEVELS, ...COUNTERS]) course[name].push(point[name] ?? null);
  while (course.times[0] < now - SPANS_MS.MINUTES) {
    for (const list of Object.values(course)) list.shift();
  }
}

/*
 * Calls draw(range, course) for each new point until the signal. queue is null for the whole server. A course has times
 * in milliseconds, and for each time the number of queued and active jobs and the rates a second.
 */
export function timeline({ queue, range, signal, draw, fail }) {
  const rateOf = rates(COUNTERS);
  const words = ['HISTORY', ...(queue === null ? [] : [queue]), range];
  const streams = queue === null && range === 'MINUTES';
  let course = null;

  every(queue !== null && range === 'MINUTES' ? 10000 : 60000, signal, async () => {
    try {
      course = readHistory(await run(words, signal), range, queue);
      draw(range, course);
    } catch (error) {
      if (!signal.aborted) fail(error);
    }
  });
  onFigures(({ now, server }) => {
    if (!streams) return;
    const point = { ...rateOf(now, server), len: server.len, active: server.active };
    if (course === null || point.added === null) return;
    append(course, now, point);
    draw(range, course);
  }, signal);
}
