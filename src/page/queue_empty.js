// Deletes the jobs of a queue.
import { run } from './api.js';
import { show } from './bytes.js';
import { formDialog, progressDialog } from './dialog.js';
import { count, plural } from './format.js';
import { tell } from './toast.js';

const STEP = 1000;

// Deletes the active, delayed and waiting jobs. A job that ends before its deletion does not count. Returns false if the user
// has stopped the work before its end.
async function deleteUnqueued(name) {
  const progress = progressDialog(`Deleting jobs of ${show(name)}`);
  let cursor = '0';
  let deleted = 0;
  try {
    do {
      const found = await run(['JSCAN', cursor, 'COUNT', STEP, 'QUEUE', name, 'STATE', 'active', 'STATE', 'waiting']);
      cursor = found[0];
      if (found[1].length > 0) deleted += await run(['DELJOB', ...found[1]]);
      progress.set(deleted, `${plural(deleted, 'job')} deleted.`);
    } while (cursor !== '0' && !progress.stopped);
    return cursor === '0';
  } finally {
    progress.close();
  }
}

// figures: those of the queue now. Returns true if jobs were deleted.
export async function emptyQueue(name, figures) {
  const others = figures.active + figures.delayed + figures.waiting;
  const choice = (field, text, value) => ({ name: field, type: 'checkbox', value, label: text });
  return formDialog({
    title: `Delete jobs of ${show(name)}?`,
    text: 'Nothing brings them back. The queue and its settings stay.',
    fields: [
      choice('queued', `Queued: ${count(figures.len)}`, '1'),
      choice('others', `Active, delayed and waiting: ${count(others)}`, '0'),
      choice('dead', `Dead: ${count(figures.dead)}`, '0'),
    ],
    label: 'Delete the jobs',
    danger: true,
    submit: async (chosen) => {
      if (chosen.queued) await run(['DEL', name]);
      if (chosen.dead) await run(['DELDEAD', name]);
      const all = !chosen.others || (await deleteUnqueued(name));
      tell(all ? `The chosen jobs of ${show(name)} are deleted.` : `Some of the chosen jobs of ${show(name)} are left.`);
    },
  });
}
