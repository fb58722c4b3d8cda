// The course of the last minutes, hours or days, from HISTORY and from the stream of figures.
import { fields, run } from './api.js';
import { every } from './dom.js';
import { rates } from './figures.js';
import { onFigures } from './live.js';

export const RANGES = { MINUTES: '5 min', HOURS: '6 hours', DAYS: '7 days' };

const COUNTERS = ['added', 'delivered', 'acknowledged'];
const LEVELS = ['len', 'active'];
const SPAN_MS = 5 * 60 * 1000;

function readHistory(reply) {
  const history = fields(reply);
  const length = (history.len ?? []).length;
  const step = history.step;
  const course = { times: Array.from({ length }, (_, i) => history.now - (length - 1 - i) * step) };
  for (const name of LEVELS) course[name] = history[name] ?? [];
  for (const name of COUNTERS) {
    course[name] = (history[name] ?? []).map((n) => (n === null ? null : (n * 1000) / step));
  }
  return course;
}

// Adds a second to the course, and removes the points that are older than five minutes.
function append(course, now, point) {
  course.times.push(now);
  for (const name of [...LEVELS, ...COUNTERS]) course[name].push(point[name] ?? null);
  while (course.times[0] < now - SPAN_MS) {
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
      course = readHistory(await run(words, signal));
      draw(range, course);
    } catch (error) {
      if (!signal.aborted) fail(error);
    }
  });
  onFigures(({ now, server }) => {
    const point = { ...rateOf(now, server), len: server.len, active: server.active };
    if (!streams || course === null || point.added === null) return;
    append(course, now, point);
    draw(range, course);
  }, signal);
}
