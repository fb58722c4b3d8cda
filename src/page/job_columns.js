// The columns of a list of jobs.
import { bodyCell, jobLink, queueLink, timeNode } from './cells.js';
import { show } from './bytes.js';
import { badge, bdi, element } from './dom.js';
import { ago, count, fromNow } from './format.js';

// Tells when the lease of a job ends, when a delayed job is due, or when a job ended.
function whenText(job) {
  if (job.state === 'active' && job.due) return `lease ends ${fromNow(job.due)}`;
  if (job.state === 'delayed') return `due ${fromNow(job.due)}`;
  if (job.state === 'dead') return `died ${ago(job.died)}`;
  if (job.state === 'done') return `done ${ago(job.finished)}`;
  return '';
}

function attemptsText(job) {
  if (job.attempts) return `${job.tried} of ${job.attempts}`;
  return job.tried ? count(job.tried) : '–';
}

function box(id, label, set) {
  return element('input', {
    type: 'checkbox',
    value: id,
    'aria-label': label,
    onchange: (event) => set(event.target.checked),
  });
}

// The box of a job calls select(job, checked), and its value is the ID. The box of the head calls all(checked). withQueue:
// the list has jobs of several queues. withState(): the list has jobs of several states.
export function jobColumns({ select, all, withQueue, withState }) {
  return [
    {
      label: 'Select',
      head: box('', 'Select all jobs of this page', all),
      class: 'select',
      text: (job) => job.id,
      node: (job) => box(job.id, `Select job ${job.id}`, (checked) => select(job, checked)),
    },
    { label: 'Job', text: (job) => job.id, node: (job) => jobLink(job.id) },
    { label: 'State', optional: true, text: (job) => (withState() ? job.state : ''), node: (job) => badge(job.state) },
    ...(withQueue ? [{ label: 'Queue', text: (job) => show(job.queue), node: (job) => queueLink(job.queue) }] : []),
    { label: 'Body', class: 'wide', text: (job) => `${job.body} ${job.error}`, node: bodyCell },
    {
      label: 'When',
      optional: true,
      text: whenText,
      node: (job) => timeNode(job.died ?? job.finished ?? job.due, whenText(job)),
    },
    { label: 'Created', named: true, text: (job) => ago(job.created), node: (job) => timeNode(job.created) },
    {
      label: 'Progress',
      number: true,
      optional: true,
      text: (job) => (job.progress === undefined ? '–' : `${count(job.progress)} %`),
    },
    {
      label: 'Worker',
      named: true,
      optional: true,
      text: (job) => job.worker,
      node: (job) => bdi(job.worker, { class: 'name' }),
    },
    { label: 'Priority', number: true, optional: true, text: (job) => job.priority || '–' },
    { label: 'Attempts', number: true, optional: true, text: attemptsText },
  ];
}
