// Figures of queues that only METRICS has. The server gives them for the first queues (the option metrics-queues).
import { run } from './api.js';
import { keyOf, textOf } from './bytes.js';

const LINE =
  /^pgdisque_queue_(length|active_jobs|delayed_jobs|oldest_age_seconds)\{queue="((?:[^"\\]|\\.)*)"\} (\S+)$/gm;
const MEMBERS = { length: 'len', active_jobs: 'active', delayed_jobs: 'delayed', oldest_age_seconds: 'oldest' };

function unescapeLabel(text) {
  return text.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char));
}

// A map from the key of a queue's name to { name, len, active, delayed, oldest }. It is empty if the user may not run METRICS.
export async function queueMetrics(signal) {
  const queues = new Map();
  const text = await run(['METRICS'], signal).then(textOf, () => '');
  for (const [, metric, label, value] of text.matchAll(LINE)) {
    const name = unescapeLabel(label);
    const key = keyOf(name);
    if (!queues.has(key)) queues.set(key, { name });
    queues.get(key)[MEMBERS[metric]] = Number(value);
  }
  return queues;
}
