// The age of the oldest queued job of each queue, as METRICS has it for the first queues (the option metrics-queues).
import { run } from './api.js';
import { textOf } from './bytes.js';

const LINE = /^pgdisque_queue_(length|oldest_age_seconds)\{queue="((?:[^"\\]|\\.)*)"\} (\S+)$/gm;

function unescapeLabel(text) {
  return text.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char));
}

// An array of { name, len, oldest }, oldest in milliseconds. It is empty if the user may not run METRICS.
export async function queueMetrics(signal) {
  const queues = new Map();
  const text = await run(['METRICS'], signal).then(textOf, () => '');
  for (const [, metric, label, value] of text.matchAll(LINE)) {
    const name = unescapeLabel(label);
    if (!queues.has(name)) queues.set(name, { name });
    if (metric === 'length') queues.get(name).len = Number(value);
    else queues.get(name).oldest = 1000 * Number(value);
  }
  return [...queues.values()];
}
