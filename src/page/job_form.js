// The form that adds a job.
import { CommandError, run } from './api.js';
import { isBytes, show } from './bytes.js';
import { formDialog } from './dialog.js';
import { jobAddress } from './router.js';
import { tell } from './toast.js';

const OPTIONS = {
  DELAY: { label: 'Delay', type: 'number', min: 0, placeholder: 'seconds' },
  PRIORITY: { label: 'Priority', type: 'number', min: 0, max: 255, placeholder: '0' },
  RETRY: { label: 'Retry', type: 'number', min: 0, placeholder: 'seconds' },
  TTL: { label: 'Time to live', type: 'number', min: 1, placeholder: 'seconds' },
  MAXLEN: { label: 'Maximum length', type: 'number', min: 1, placeholder: 'queued jobs' },
  ATTEMPTS: { label: 'Attempts', type: 'number', min: 1, placeholder: 'no limit' },
  BACKOFF: { label: 'Back-off', type: 'number', min: 0, max: 3600, placeholder: 'seconds' },
  DEADQUEUE: { label: 'Queue of dead jobs' },
  UNIQUE: { label: 'Unique key' },
  GROUP: { label: 'Group' },
};
export const ADDJOB_OPTIONS = Object.keys(OPTIONS);

const HEADERS_HELP = 'A header on each line, as name: text.';

function headerLines(headers) {
  return Object.entries(headers ?? {})
    .map(([name, text]) => `${name}: ${text}`)
    .join('\n');
}

function wordsOfHeaders(headers) {
  return Object.entries(headers).flatMap(([name, text]) => ['HEADER', name, text]);
}

function wordsOfLines(text) {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .flatMap((line) => {
      const at = line.indexOf(':');
      if (at < 1) throw new CommandError(`ERR headers have the form name: text, unlike '${line}'`);
      return ['HEADER', line.slice(0, at).trim(), line.slice(at + 1).trim()];
    });
}

// The headers of a form as words of a command. Headers that the user has not changed keep all their characters.
export function headerWords({ headers }, preset = {}) {
  const text = headers.replace(/\r\n/g, '\n');
  return text === headerLines(preset.headers).replace(/\r\n?/g, '\n')
    ? wordsOfHeaders(preset.headers ?? {})
    : wordsOfLines(text);
}

function headersField(preset) {
  const value = headerLines(preset.headers);
  return { name: 'headers', label: 'Headers', type: 'body', rows: 2, wide: true, help: HEADERS_HELP, value };
}

export function bodyField(preset = {}) {
  const value = isBytes(preset.body) ? preset.body.base64 : preset.body;
  return { name: 'body', label: 'Body', type: 'body', wide: true, value };
}

// The fields of the options that have these names.
export function optionFields(names, preset = {}) {
  return names.map((name) => ({
    name,
    ...OPTIONS[name],
    value: isBytes(preset[name]) ? show(preset[name]) : preset[name],
  }));
}

// The fields that few jobs need: the form of the body, the options, and the headers.
export function moreFields(names, preset = {}) {
  const format = {
    name: 'format',
    label: 'The body is',
    value: isBytes(preset.body) ? 'base64' : 'text',
    choices: { text: 'text', base64: 'base64' },
  };
  return [format, ...optionFields(names, preset), headersField(preset)];
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
  const used = isBytes(preset.body) || Object.keys(preset).some((name) => name !== 'body');
  let id;
  const done = await formDialog({
    title,
    groups: [
      { fields: [{ ...bodyField(preset), autofocus: true }, ...optionFields(['DELAY'], preset)] },
      { title: 'Further options', folds: true, open: used, fields: moreFields(ADDJOB_OPTIONS.slice(1), preset) },
    ],
    label: 'Add the job',
    submit: async (values) => {
      for (const [name, value] of Object.entries(kept)) if (values[name] === show(value)) values[name] = value;
      const options = [...optionWords(values, ADDJOB_OPTIONS), ...headerWords(values, preset)];
      id = await run(['ADDJOB', queue, wordOfBody(values), '0', ...options]);
    },
  });
  if (done) tell('The job is added.', jobAddress(id));
  return done;
}
