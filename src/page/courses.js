// The two charts of the overview and of a queue, and the choice of their range.
import { element, segments } from './dom.js';
import { plot } from './plot.js';
import { replaceQuery } from './router.js';
import { ranges, timeline } from './timeline.js';

// Returns { root, ranges }: the charts of that queue, or of the server for null, and the buttons of the range.
export function courses({ queue, query, signal }) {
  const depth = plot({
    title: 'Depth',
    signal,
    lines: [
      { label: 'queued', colour: 'queued', fill: true },
      { label: 'running', colour: 'active' },
    ],
  });
  const flow = plot({
    title: 'Jobs a second',
    signal,
    lines: [
      { label: 'added', colour: 'queued', kind: 'rate' },
      { label: 'delivered', colour: 'active', kind: 'rate' },
      { label: 'acknowledged', colour: 'done', kind: 'rate' },
    ],
  });
  const problem = element('p', { class: 'problem', hidden: true });
  let stop = new AbortController();

  function begin(range) {
    stop.abort();
    stop = new AbortController();
    timeline({
      queue,
      range,
      signal: AbortSignal.any([signal, stop.signal]),
      draw: (_, course) => {
        problem.hidden = true;
        depth.update(range, course.times, [course.len, course.active]);
        flow.update(range, course.times, [course.added, course.delivered, course.acknowledged]);
      },
      fail: (error) => {
        problem.textContent = `The server has no history for you: ${error.message}`;
        problem.hidden = false;
      },
    });
  }

  const first = query.range?.toUpperCase() in ranges(queue) ? query.range.toUpperCase() : 'MINUTES';
  begin(first);
  return {
    root: element('div', {}, problem, element('div', { class: 'plots' }, depth.root, flow.root)),
    ranges: segments('Range of the charts', ranges(queue), first, (range) => {
      replaceQuery({ range: range.toLowerCase() });
      begin(range);
    }).root,
  };
}
