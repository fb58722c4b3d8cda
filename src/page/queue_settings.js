// The settings of a queue.
import { fields, run } from './api.js';
import { show } from './bytes.js';
import { confirmAction, formDialog } from './dialog.js';
import { duration } from './format.js';
import { tell } from './toast.js';

const number = (label, help, most) => ({ label, help, type: 'number', min: 0, max: most });
const seconds = (label, help) => ({ ...number(label, help), unit: 'seconds' });
const LIMIT = 'jobs; 0: no limit';
const RATE = 'jobs a second, or 30/m, 1/10s; 0: no limit';
const BURST = 'jobs after a pause; 0: those of 0.1 s';

const GROUPS = [
  {
    title: 'Delivery',
    settings: {
      retry: seconds('Retry: length of a lease'),
      ttl: seconds('Time to live'),
      maxlen: number('Maximum length', LIMIT),
      expired: { label: 'Jobs whose time to live is over', choices: { drop: 'are removed', dead: 'become dead jobs' } },
      events: { label: 'Send messages about its jobs', type: 'checkbox' },
    },
  },
  {
    title: 'Failures',
    settings: {
      attempts: number('Attempts', 'deliveries; 0: no limit'),
      backoff: seconds('Back-off after a failure'),
      deadqueue: { label: 'Queue of dead jobs', help: 'empty: they stay here as dead' },
    },
  },
  {
    title: 'Limits',
    settings: {
      'max-active': number('Active at once', LIMIT),
      'server-max-active': number('Active at once, of each server', LIMIT),
      rate: { label: 'Rate', help: RATE },
      'rate-burst': number('Burst', BURST),
      'per-group': { label: 'These limits hold for each group', type: 'checkbox' },
      'group-max-active': number('Active at once, of each group', 'jobs; 0: one'),
      'group-rate': { label: 'Rate of each group', help: RATE },
      'group-rate-burst': number('Burst of each group', BURST),
    },
  },
  {
    title: 'Retention',
    settings: {
      retention: seconds('Keep done jobs', '0: not at all'),
      'dead-retention': seconds('Keep dead jobs', '0: for ever'),
    },
  },
];

function fieldOf(name, field, value) {
  const now = field.unit ? `${field.unit}${Number(value) >= 120 ? ` (${duration(Number(value))})` : ''}` : null;
  return { name, ...field, value, help: [now, field.help].filter(Boolean).join('; ') || null };
}

// The fields of the form, in groups. A setting that the page does not know is a text.
function groupsOf(now) {
  const known = GROUPS.map(({ title, settings }) => ({
    title,
    fields: Object.entries(settings)
      .filter(([name]) => name in now)
      .map(([name, field]) => fieldOf(name, field, show(now[name]))),
  }));
  const names = known.flatMap(({ fields: list }) => list.map(({ name }) => name));
  const others = Object.keys(now).filter((name) => !names.includes(name));
  const rest = others.map((name) => fieldOf(name, { label: name }, show(now[name])));
  return [...known, ...(rest.length > 0 ? [{ title: 'Others', fields: rest }] : [])];
}

async function reset(name) {
  const text = 'All settings get their defaults. Existing jobs do not change.';
  if (!(await confirmAction(`Reset the settings of ${show(name)}?`, text, 'Reset the settings'))) return;
  await run(['QCONFIG', name, 'RESET']);
  tell('The settings have their defaults.');
}

// Shows the settings and sends those that the user has changed.
export async function settingsDialog(name) {
  const now = fields(await run(['QCONFIG', name, 'GET']));
  const groups = groupsOf(now);
  const boxes = groups.flatMap(({ fields: list }) => list.filter(({ type }) => type === 'checkbox'));

  const done = await formDialog({
    title: `Settings of ${show(name)}`,
    groups,
    label: 'Save',
    other: 'Reset all',
    submit: async (values) => {
      for (const box of boxes) values[box.name] = values[box.name] ? '1' : '0';
      const changed = Object.keys(now).filter((setting) => values[setting] !== show(now[setting]));
      if (changed.length > 0)
        await run(['QCONFIG', name, 'SET', ...changed.flatMap((setting) => [setting, values[setting]])]);
    },
  });
  if (done === 'other') await reset(name);
  else if (done) tell('The settings are saved.');
}
