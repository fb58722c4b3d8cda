// The form that adds a job.
import { run } from './api.js';
import { isBytes, show } from './bytes.js';
import { formDialog } from './dialog.js';
import { jobAddress } from './router.js';
import { tell } from './toast.js';

const OPTIONS = {
  PRIORITY: { label: 'Priority', type: 'number', min: 0, max: 255, placeholder: '0' },
  DELAY: { label: 'Delay', type: 'number', min: 0, placeholder: 'seconds' },
  RETRY: { label: 'Retry', type: 'number', min: 0, placeholder: 'seconds' },
  TTL: { label: 'Time to live', type: 'number', min: 1, placeholder: 'seconds' },
  MAXLEN: { label: 'Maximum length', type: 'number', min: 1, placeholder: 'queued jobs' },
  ATTEMPTS: { label: 'Attempts', type: 'number', min: 1, placeholder: 'no limit' },
  BACKOFF: { label: 'Backoff', type: 'number', min: 0, max: 3600, placeholder: 'seconds' },
  DEADQUEUE: { label: 'Dead queue' },
  UNIQUE: { label: 'Unique key' },
  GROUP: { label: 'Group' },
};
const ADDJOB_OPTIONS = Object.keys(OPTIONS);

// The fields of the body and of the options. preset: { body, RETRY, ... }.
export function jobFields(options, preset = {}) {
  const binary = isBytes(preset.body);
  return [
    { name: 'body', label: 'Body', type: 'body', wide: true, value: binary ? preset.body.base64 : preset.body },
    {
      name: 'format',
      label: 'The body is',
      value: binary ? 'base64' : 'text',
      choices: [
        ['text', 'text'],
        ['base64', 'base64'],
      ],
    },
    ...options.map((name) => ({
      name,
      ...OPTIONS[name],
      value: isBytes(preset[name]) ? show(preset[name]) : preset[name],
    })),
  ];
}

// The body as a word of a command. A browser sends the lines of a form with CR LF; the body has LF only.
export function wordOfBody({ body, format }) {
  if (format === 'base64') return { base64: body.replace(/\s/g, '') };
  return body.replace(/\r\n/g, '\n');
}

// The options that have a value, as words of a command.
export function optionWords(values, names) {
  return names
    .filter((name) => values[name] !== undefined && values[name] !== '')
    .flatMap((name) => [name, values[name]]);
}

// Adds a job to a queue. Returns true if a job was added. The values of preset stand in the form.
export async function addJobDialog(queue, preset = {}, title = `Add a job to ${show(queue)}`) {
  const kept = Object.fromEntries(
    ADDJOB_OPTIONS.filter((name) => isBytes(preset[name])).map((name) => [name, preset[name]]),
  );
  let id;
  const done = await formDialog(title, jobFields(ADDJOB_OPTIONS, preset), 'Add the job', async (values) => {
    for (const [name, value] of Object.entries(kept)) if (values[name] === show(value)) values[name] = value;
    id = await run(['ADDJOB', queue, wordOfBody(values), '0', ...optionWords(values, ADDJOB_OPTIONS)]);
  });
  if (done) tell('The job is added.', jobAddress(id));
  return done;
}
