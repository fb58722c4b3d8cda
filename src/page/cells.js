// Parts of tables: links to queues and jobs, times, errors.
import { show } from './bytes.js';
import { badge, bdi, element } from './dom.js';
import { ago, time } from './format.js';
import { jobAddress, queueAddress } from './router.js';

// A long name has two lines. Its title has all of it.
export function queueLink(name, query) {
  return element('a', { href: queueAddress(name, query), class: 'name', title: show(name) }, bdi(show(name)));
}

// The middle of the ID tells jobs apart. The title has all of it.
export function jobLink(id) {
  return element('a', { href: jobAddress(id), title: id }, element('code', {}, id.slice(11, 23)));
}

export function timeNode(ms, text = ago(ms)) {
  return element('time', { title: time(ms) }, text);
}

// The first lines of a body, and the line of its error that says most.
export function bodyCell(job) {
  return [
    element('code', { class: 'preview' }, bdi(job.body)),
    job.error ? element('span', { class: 'error-text', title: job.error }, bdi(job.error)) : '',
  ];
}

// The column of the name of a queue. q: as queueFigures() gives it; query: that of the link; limits: show those, too.
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
