// Revives and deletes the dead jobs of queues that a filter selects, in steps, and shows the progress.
import { run } from './api.js';
import { show } from './bytes.js';
import { confirmAction, formDialog, progressDialog } from './dialog.js';
import { count, plural } from './format.js';
import { filterWords } from './jobs.js';
import { tell } from './toast.js';

const STEP = 1000;

function deadWords(filter) {
  const ages = ['older', 'newer'].filter((word) => filter[word] !== '');
  return [...filterWords(filter), ...ages.flatMap((word) => [word.toUpperCase(), String(filter[word])])];
}

// "118 dead jobs of mail", "the dead jobs of 3 queues that match"
function describeJobs({ names, filter, total }) {
  const of = names.length === 1 ? show(names[0]) : plural(names.length, 'queue');
  const match = deadWords(filter).length > 0 ? ' that match' : '';
  return `${total === null ? 'the dead jobs' : plural(total, 'dead job')} of ${of}${match}`;
}

// Runs a command on the queues until it finds no further job, or until it has changed `most` jobs. A job that dies again
// during the work is thus not changed again and again.
async function runInSteps(command, title, { names, filter }, most) {
  const progress = progressDialog(title, most);
  let done = 0;
  try {
    for (const name of names) {
      for (let changed = STEP; changed === STEP && done < most && !progress.stopped;) {
        changed = await run([command, name, ...deadWords(filter), 'COUNT', Math.min(STEP, most - done)]);
        done += changed;
        progress.set(done, `${count(done)} of at most ${count(most)}`);
      }
    }
  } finally {
    progress.close();
  }
  return done;
}

async function reviveWith(options, target) {
  if (options.length === 0) return null;
  let revived = 0;
  for (const name of target.names) revived += await run(['REVIVE', name, ...deadWords(target.filter), ...options]);
  return revived;
}

// target: { names, filter, total, dead }. names: the queues. filter: selects dead jobs of these queues. total: the number of
// selected jobs, or null if the page does not know it. dead: the number of all dead jobs of the queues.
export async function reviveDead(target) {
  const jobs = describeJobs(target);
  let chosen = null;
  const done = await formDialog({
    title: `Revive ${jobs}?`,
    text: 'The jobs are queued again, with all their attempts.',
    fields: [
      { name: 'RATE', label: 'Jobs a second', type: 'number', min: 1, placeholder: 'all at once' },
      { name: 'COUNT', label: 'At most', type: 'number', min: 1, placeholder: 'all' },
      { name: 'TO', label: 'To another queue', placeholder: 'their own queue', wide: true },
    ],
    label: 'Revive',
    submit: (values) => {
      chosen = values;
    },
  });
  if (!done) return;
  const options = ['RATE', 'COUNT', 'TO'].filter((word) => chosen[word] !== '').flatMap((word) => [word, chosen[word]]);
  const revived = (await reviveWith(options, target)) ?? (await runInSteps('REVIVE', 'Reviving', target, target.dead));
  tell(`The server has revived ${plural(revived, 'job')}.`);
}

export async function deleteDead(target) {
  const jobs = describeJobs(target);
  const label = `Delete ${target.total === null ? 'the jobs' : plural(target.total, 'job')}`;
  if (!(await confirmAction(`Delete ${jobs}?`, 'Nothing brings them back.', label))) return;
  const deleted = await runInSteps('DELDEAD', 'Deleting', target, target.dead);
  tell(`The server has deleted ${plural(deleted, 'job')}.`);
}
