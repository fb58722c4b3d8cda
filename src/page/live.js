// The stream of figures. It reconnects by itself, and tells whether the server can be reached.
import { ConnectionError, LoginError, session } from './api.js';
import { isBytes } from './bytes.js';

const RETRY_MS = [500, 1000, 2000, 5000, 10000];
const SILENCE_MS = 8000;

const figureListeners = new Set();
let stateListener = () => {};
let loginListener = () => {};
let source = null;
let retry = null;
let silence = null;
let failures = 0;
let queue = null;

// Calls listener with the figures of each second until the signal.
export function onFigures(listener, signal) {
  figureListeners.add(listener);
  signal.addEventListener('abort', () => figureListeners.delete(listener));
}

// Calls state(text) at each change: live, lost, or refused if the user may not see the figures. Calls login() when the
// session has ended.
export function onConnection(state, login) {
  stateListener = state;
  loginListener = login;
}

function close() {
  clearTimeout(retry);
  clearTimeout(silence);
  if (source !== null) source.close();
  source = null;
}

function heard(figures) {
  failures = 0;
  stateListener('live');
  watchSilence();
  figureListeners.forEach((listener) => listener(figures));
}

function watchSilence() {
  clearTimeout(silence);
  silence = setTimeout(lost, SILENCE_MS);
}

// The server refuses a stream with the status 403. EventSource hides the status, so the page asks again with fetch().
async function isRefused() {
  const stop = new AbortController();
  const response = await fetch(streamAddress(), { signal: stop.signal }).catch(() => null);
  stop.abort();
  return response?.status === 403;
}

// Asks for the session, because a stream does not tell why it has ended.
async function lost() {
  const ended = source?.readyState === EventSource.CLOSED;
  close();
  let state = 'lost';
  try {
    if ((await session()).user === null) return loginListener();
    if (ended && (await isRefused())) state = 'refused';
  } catch (error) {
    if (error instanceof LoginError) return loginListener();
    if (!(error instanceof ConnectionError)) failures++;
    stateListener('lost');
  }
  if (source !== null) return undefined;
  if (state === 'refused') return stateListener('refused');
  clearTimeout(retry);
  retry = setTimeout(open, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
  return undefined;
}

function streamAddress() {
  if (queue === null) return 'api/events';
  const name = isBytes(queue) ? escapeBytes(queue) : encodeURIComponent(queue);
  return 'api/events?queue=' + name;
}

function escapeBytes(value) {
  return Array.from(atob(value.base64), (char) => '%' + char.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}

function open() {
  close();
  if (document.hidden) return;
  source = new EventSource(streamAddress());
  source.addEventListener('figures', (event) => heard(JSON.parse(event.data)));
  source.addEventListener('error', lost);
  watchSilence();
}

// Begins the stream, with the figures of that queue, or of no queue for null.
export function follow(name) {
  queue = name;
  open();
}

export function stopFollowing() {
  close();
}

document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
