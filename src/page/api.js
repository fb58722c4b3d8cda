// Runs commands at the server. A reply is JSON; an error of the server is a CommandError with the server's text.
import { show } from './bytes.js';

const BATCH_MAX = 100;

// The text of an error for people: without its code and without the usage of the command.
function sentence(text) {
  const plain = text.replace(/^[A-Z]+ /, '').replace(/\.? Usage: .*$/s, '.');
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}

export class CommandError extends Error {
  // words: the command that has failed.
  constructor(text, words = []) {
    super(sentence(text));
    this.code = text.split(' ', 1)[0];
    this.command = words.slice(0, 1).map(show).join(' ');
  }
}

// The server cannot be reached, or its answer is no answer of pgdisque.
export class ConnectionError extends Error {}

// The session has ended, or a login is needed.
export class LoginError extends Error {}

let loginListener = () => {};

// listener() is called when a command needs a login.
export function onLoginNeeded(listener) {
  loginListener = listener;
}

// Commands that the server has refused for lack of a right, with the server's text. A button of such a command is
// disabled.
const refused = new Map();

export function refusalOf(command, name = '') {
  return refused.get(`${command} ${name}`) ?? refused.get(`${command} `);
}

export function noteRefusal(command, name, error) {
  const any = error.message.includes('to run the') ? '' : name;
  refused.set(`${command} ${any}`, error.message);
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: 'same-origin', cache: 'no-store', ...options });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ConnectionError('The server cannot be reached.');
  }
  const answer = await response.json().catch(() => null);
  if (answer === null) throw new ConnectionError(`The server answered with status ${response.status}.`);
  return { status: response.status, answer };
}

function post(path, body, signal) {
  return send(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
}

// A map of the server may have a member "error". An error has no other member.
function isError(reply) {
  return (
    reply !== null &&
    typeof reply === 'object' &&
    !Array.isArray(reply) &&
    'error' in reply &&
    Object.keys(reply).length === 1
  );
}

function checkStatus(status, answer, words) {
  if (status === 401) throw new LoginError(sentence(show(answer.error)));
  if (isError(answer)) throw new CommandError(show(answer.error), words);
  if (status !== 200) throw new ConnectionError(`The server answered with status ${status}.`);
}

// words: the command, or the first one of body.
async function command(body, words, signal) {
  const { status, answer } = await post('api/command', body, signal);
  if (status === 401) loginListener();
  checkStatus(status, answer, words);
  return answer;
}

// Runs one command and returns its reply.
export async function run(words, signal) {
  return (await command(words, words, signal)).reply;
}

// Runs commands one after the other. Returns a reply or a CommandError for each.
export async function runAll(commands, signal) {
  const replies = [];
  for (let at = 0; at < commands.length; at += BATCH_MAX) {
    const part = commands.slice(at, at + BATCH_MAX);
    const answer = await command(part, part[0], signal);
    answer.replies.forEach((reply, i) =>
      replies.push(isError(reply) ? new CommandError(show(reply.error), part[i]) : reply),
    );
  }
  return replies;
}

// A reply of names and values as an object, whether the server sent a map or an array.
export function fields(reply) {
  const object = Object.create(null);
  if (Array.isArray(reply)) {
    for (let i = 0; i + 1 < reply.length; i += 2) object[show(reply[i])] = reply[i + 1];
  } else if (reply !== null) {
    Object.assign(object, reply);
  }
  return object;
}

export async function session() {
  const { status, answer } = await send('api/session', {});
  checkStatus(status, answer, []);
  return answer;
}

export async function login(user, password) {
  const { status, answer } = await post('api/login', { user, password });
  checkStatus(status, answer, []);
}

export async function logout() {
  await post('api/logout', {});
}
