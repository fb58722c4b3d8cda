// Revives the dead letters of a queue in steps, and shows the progress.
import { run } from './api.js';
import { show } from './bytes.js';
import { confirmAction } from './dialog.js';
import { button, element } from './dom.js';
import { count, plural } from './format.js';
import { tell } from './toast.js';

const STEP = 1000;

function progressDialog(title, total) {
  const bar = element('progress', { max: total, value: 0, 'aria-label': title });
  const text = element('p', { class: 'muted' }, '');
  const dialog = element('dialog', { 'aria-label': title }, element('h2', {}, title), bar, text);
  const progress = {
    stopped: false,
    set(done) {
      bar.value = done;
      text.textContent = `${count(done)} of ${count(total)}`;
    },
    close: () => dialog.remove(),
  };

  dialog.append(
    element(
      'footer',
      {},
      button('Stop', () => {
        progress.stopped = true;
      }),
    ),
  );
  dialog.addEventListener('cancel', () => {
    progress.stopped = true;
  });
  document.body.append(dialog);
  dialog.showModal();
  return progress;
}

// dead: the number of dead letters that the user sees. Jobs that die during the work may be revived, too.
export async function reviveDead(name, dead) {
  const jobs = plural(dead, 'dead job');
  if (
    !(await confirmAction(
      `Revive ${jobs} of ${show(name)}?`,
      `The server queues ${jobs} again, with all their attempts.`,
      `Revive ${jobs}`,
    ))
  )
    return;
  const progress = progressDialog('Reviving', dead);
  let done = 0;

  try {
    while (done < dead && !progress.stopped) {
      const revived = await run(['REVIVE', name, 'COUNT', Math.min(STEP, dead - done)]);
      if (revived === 0) break;
      done += revived;
      progress.set(done);
    }
  } finally {
    progress.close();
    if (done > 0) tell(`The server has revived ${plural(done, 'job')}.`);
  }
}
