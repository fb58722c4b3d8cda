// The two charts of the overview and of a queue, and the choice of their range.
import { show } from './bytes.js';
import { element, segments } from './dom.js';
import { count, rate, time } from './format.js';
import { plot } from './plot.js';
import { replaceQuery } from './router.js';
import { ranges, timeline } from './timeline.js';

const DEPTH = [
  { name: 'len', label: 'queued', colour: 'queued', fill: true },
  { name: 'active', label: 'active', colour: 'active' },
];
const FLOW = [
  { name: 'added', label: 'added', colour: 'queued' },
  { name: 'delivered', label: 'delivered', colour: 'active' },
  { name: 'acknowledged', label: 'done', colour: 'done' },
  { name: 'failed', label: 'failed', colour: 'dead' },
];

function noteOf(course) {
  if (course.since === null) return 'The server keeps no history of this queue: see its option metrics-queues.';
  return course.since > course.times[0] ? `The history begins at ${time(course.since)}.` : '';
}

// Returns { root, ranges }: the charts of that queue, or of the server for null, and the buttons of the range.
export function courses({ queue, query, signal }) {
  const charts = [
    plot({ title: 'Jobs', lines: DEPTH, format: count, signal }),
    plot({ title: 'Jobs a second', lines: FLOW, format: rate, signal }),
  ];
  const plots = element(
    'div',
    { class: 'plots' },
    charts.map((chart) => chart.root),
  );
  const note = element('small', { hidden: true });
  let stop = new AbortController();

  function tell(text) {
    note.textContent = text;
    note.hidden = text === '';
  }

  function begin(range) {
    stop.abort();
    stop = new AbortController();
    timeline({
      queue,
      range,
      signal: AbortSignal.any([signal, stop.signal]),
      draw: (course) => {
        tell(noteOf(course));
        plots.hidden = course.since === null;
        for (const chart of charts) chart.update(range, course);
      },
      fail: (error) => tell(`The server has no history for you: ${error.message}`),
    });
  }

  const labels = ranges(queue);
  const wanted = show(query.range).toUpperCase();
  const first = wanted in labels ? wanted : 'MINUTES';
  begin(first);
  return {
    root: element('div', {}, plots, note),
    ranges: segments('Range of the charts', labels, first, (range) => {
      replaceQuery({ range: range.toLowerCase() });
      begin(range);
    }),
  };
}
