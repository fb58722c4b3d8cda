// The workers of all servers, and their running jobs.
import { fields, run } from './api.js';
import { actionButton } from './actions.js';
import { keyOf, show } from './bytes.js';
import { confirmAction } from './dialog.js';
import { bdi, button, element, head } from './dom.js';
import { count, milliseconds, plural } from './format.js';
import { queueAddress } from './router.js';
import { table } from './table.js';
import { tell } from './toast.js';

function isNamed(row) {
  return row.worker !== '' && row.worker !== null;
}

// The jobs that RELEASE of this worker takes: those of all its queues at that node.
function jobsOf(rows, row) {
  return rows
    .filter((r) => keyOf(r.worker) === keyOf(row.worker) && r.node === row.node)
    .reduce((sum, r) => sum + r.jobs, 0);
}

async function release(rows, row, reload) {
  const jobs = plural(jobsOf(rows, row), 'running job');
  const name = show(row.worker);
  if (
    !(await confirmAction(
      `Release the jobs of ${name}?`,
      `The server takes ${jobs} from this worker and queues them at once. A worker that still runs does them a second time.`,
      `Release ${jobs}`,
    ))
  )
    return;
  const released = await run(['RELEASE', 'WORKER', row.worker, 'NODE', row.node]);
  tell(`The server has queued ${plural(released, 'job')}.`);
  reload();
}

export async function viewWorkers({ root, signal, reload }) {
  const rows = (await run(['WORKERS'], signal)).map(fields);
  const total = rows.reduce((sum, row) => sum + row.jobs, 0);
  const names = new Set(rows.filter(isNamed).map((row) => keyOf(row.worker)));
  const grid = table({
    caption: 'Workers',
    empty: 'No job is running.',
    key: (r) => [r.node, keyOf(r.worker), keyOf(r.queue)].join(' '),
    columns: [
      {
        label: 'Worker',
        class: 'wide',
        text: (r) => show(r.worker),
        node: (r) => (isNamed(r) ? bdi(show(r.worker)) : element('span', { class: 'muted' }, 'not known yet')),
      },
      {
        label: 'Queue',
        text: (r) => show(r.queue),
        node: (r) => element('a', { href: queueAddress(r.queue, { state: 'active' }) }, bdi(show(r.queue))),
      },
      { label: 'Jobs', number: true, text: (r) => count(r.jobs) },
      { label: 'First lease ends in', number: true, text: (r) => milliseconds(r['next-requeue-within']) },
      { label: 'Server', text: (r) => r.node, node: (r) => element('code', { title: r.node }, r.node.slice(0, 8)) },
      {
        label: 'Actions',
        unseen: true,
        text: (r) => `${isNamed(r)}`,
        node: (r) =>
          isNamed(r)
            ? actionButton('Release', { command: 'RELEASE' }, () => release(rows, r, reload), { class: 'small' })
            : '',
      },
    ],
  });

  rows.sort((a, b) => b.jobs - a.jobs || show(a.worker).localeCompare(show(b.worker)));
  root.append(
    head('Workers', button('Refresh', reload)),
    element('p', { class: 'muted' }, `${plural(total, 'running job')}, ${plural(names.size, 'named worker')}.`),
    grid.root,
  );
  grid.update(rows);
}
