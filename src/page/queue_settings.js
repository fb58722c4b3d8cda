// The settings of a queue.
import { fields, run } from './api.js';
import { show } from './bytes.js';
import { confirmAction, formDialog } from './dialog.js';
import { tell } from './toast.js';

const LABELS = {
  retry: ['Retry', 'seconds'],
  ttl: ['Time to live', 'seconds'],
  maxlen: ['Maximum length', '0: no limit'],
  attempts: ['Attempts', '0: no limit'],
  backoff: ['Backoff', 'seconds'],
  deadqueue: ['Dead queue', 'empty: none'],
  'max-active': ['Jobs at once', '0: no limit'],
  'server-max-active': ['Jobs of each server at once', '0: no limit'],
  rate: ['Deliveries a second', 'or in a period: 30/m, 1/10s; 0: no limit'],
  'rate-burst': ['Deliveries at once after a pause', '0: those of a tenth of a second'],
  'per-group': ['Limits hold for each group', '0 or 1'],
  'group-max-active': ['Jobs of a group at once', '0: one'],
  'group-rate': ['Jobs of a group a second', 'or in a period: 30/m, 1/10s; 0: no limit'],
  'group-rate-burst': ['Jobs of a group at once after a pause', '0: those of a tenth of a second'],
  events: ['Messages about jobs', '0 or 1'],
  retention: ['Keep done jobs', 'seconds, 0: not at all'],
};

async function reset(name) {
  if (
    !(await confirmAction(
      `Reset the settings of ${show(name)}?`,
      'All settings get their defaults. Existing jobs do not change.',
      'Reset the settings',
    ))
  )
    return;
  await run(['QCONFIG', name, 'RESET']);
  tell('The settings have their defaults.');
}

// Shows the settings and sends those that the user has changed.
export async function settingsDialog(name) {
  const now = fields(await run(['QCONFIG', name, 'GET']));
  const names = Object.keys(now);
  const list = names.map((setting) => {
    const [label, help] = LABELS[setting] ?? [setting, null];
    return { name: setting, label, help, value: show(now[setting]) };
  });

  const done = await formDialog(
    `Settings of ${show(name)}`,
    list,
    'Save',
    async (values) => {
      const changed = names.filter((setting) => values[setting] !== show(now[setting]));
      if (changed.length > 0)
        await run(['QCONFIG', name, 'SET', ...changed.flatMap((setting) => [setting, values[setting]])]);
    },
    'Reset all',
  );
  if (done === 'other') await reset(name);
  else if (done) tell('The settings are saved.');
}
