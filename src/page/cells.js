// Parts of tables: links to queues and jobs, times, errors.
import { show } from './bytes.js';
import { badge, bdi, element } from './dom.js';
import { ago, time } from './format.js';
import { jobAddress, queueAddress } from './router.js';

// The CSS cuts a name after two lines. The title has the whole name.
export function queueLink(name, query) {
  return element('a', { href: queueAddress(name, query), class: 'name', title: show(name) }, bdi(show(name)));
}

// The text is the middle of the ID, in which the IDs of jobs differ. The title has the whole ID.
export function jobLink(id) {
  return element('a', { href: jobAddress(id), title: id }, element('code', {}, id.slice(11, 23)));
}

export function timeNode(ms, text = ago(ms)) {
  return element('time', { title: time(ms) }, text);
}

// The beginning of a body, and the headline of the error of its job.
export function bodyCell(job) {
  return [
    element('code', { class: 'preview' }, bdi(job.body)),
    job.error ? element('span', { class: 'error-text', title: job.error }, bdi(job.error)) : '',
  ];
}

// The column of the name of a queue. Its rows are those of readFigures(). query: the query of the link. With limits the
// column shows the limits of the queue.
export function nameColumn({ query, limits = false } = {}) {
  const badges = (q) => [
    ...(q.pause && q.pause !== 'none' ? [`paused ${q.pause}`] : []),
    ...(q.untaken ? ['no worker'] : []),
  ];
  const small = (q) => q.problem ?? (limits ? q.limits : '');
  return {
    label: 'Queue',
    class: 'wide',
    sort: 'name',
    text: (q) => [show(q.name), ...badges(q), small(q)].join(' '),
    node: (q) => [
      queueLink(q.name, query),
      ...badges(q).map((text) => badge(text, 'active')),
      small(q) ? element('small', {}, bdi(small(q))) : '',
    ],
  };
}
