// Starts the page: the session, the frame, and the view that the address names.
import { ConnectionError, CommandError, LoginError, logout, onLoginNeeded, session } from './api.js';
import { show } from './bytes.js';
import { bdi, button, element } from './dom.js';
import { listenKeys } from './keys.js';
import { follow, onConnection, onFigures, stopFollowing } from './live.js';
import { parse } from './router.js';
import { shell } from './shell.js';
import { nextTheme } from './theme.js';
import { viewDead } from './view_dead.js';
import { viewDoctor } from './view_doctor.js';
import { viewJob } from './view_job.js';
import { viewLogin } from './view_login.js';
import { viewNodes } from './view_nodes.js';
import { viewOverview } from './view_overview.js';
import { viewQueue } from './view_queue.js';
import { viewQueues } from './view_queues.js';
import { viewSchedules } from './view_schedules.js';
import { viewSlowlog } from './view_slowlog.js';
import { viewWorkers } from './view_workers.js';

const RETRY_MS = 2000;

// The first part of an address: the view, its entry of the menu, and its number of parts.
const VIEWS = {
  '': [viewOverview, 'overview', 0],
  queues: [viewQueues, 'queues', 1],
  queue: [viewQueue, 'queues', 2],
  job: [viewJob, 'queues', 2],
  dead: [viewDead, 'dead', 1],
  workers: [viewWorkers, 'workers', 1],
  schedules: [viewSchedules, 'schedules', 1],
  nodes: [viewNodes, 'nodes', 1],
  slowlog: [viewSlowlog, 'slowlog', 1],
  doctor: [viewDoctor, 'doctor', 1],
};

const app = document.getElementById('app');
let frame = null;
let user = '';
let current = new AbortController();

function setTitle() {
  const title = frame.main.querySelector('h1')?.textContent.trim();
  document.title = title ? `${title} · pgdisque` : 'pgdisque';
}

function viewNotFound({ root }) {
  root.append(element('h1', {}, 'No such view'), element('p', {}, element('a', { href: '#/' }, 'Overview')));
}

// Names the missing right: the user may not run a command, or has no right on a queue.
function refusal(error, parts) {
  const subject = ['The user ', bdi(show(user), { class: 'strong' })];
  if (error.message.includes('to run the'))
    return [subject, ' may not run the command ', element('code', {}, error.command), ', which this view needs.'];
  return [subject, ' has no right on the queue ', bdi(show(parts[1] ?? ''), { class: 'strong' }), '.'];
}

function showProblem(root, error, parts) {
  const refused = error instanceof CommandError && error.code === 'NOPERM';
  const offline = error instanceof ConnectionError;
  const title = refused ? 'A right is missing' : offline ? 'No connection' : 'The server replied an error';
  root.replaceChildren(
    element(
      'section',
      { class: 'card problem-card' },
      element('h1', {}, title),
      refused ? element('p', {}, refusal(error, parts).flat()) : null,
      element('pre', {}, error.message),
      refused ? element('p', { class: 'muted' }, 'An administrator can add the right with ACL SETUSER.') : null,
      button('Try again', showView),
    ),
  );
}

// The row of VIEWS of an address. A name such as "constructor" is no view.
function viewOf(parts) {
  const name = parts[0] ?? '';
  return Object.hasOwn(VIEWS, name) ? VIEWS[name] : [viewNotFound, '', parts.length];
}

async function showView({ focus = false } = {}) {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const { parts, query } = parse(location.hash);
  const [view, name, length] = viewOf(parts);
  const root = element('div', { class: 'view', 'aria-busy': 'true' });

  frame.setView(name);
  try {
    await (parts.length === length ? view : viewNotFound)({ root, parts, query, signal, reload: () => showView() });
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof LoginError) return;
    showProblem(root, error, parts);
    if (error instanceof ConnectionError) setTimeout(() => signal.aborted || showView(), RETRY_MS);
  }
  if (signal.aborted) return;
  root.removeAttribute('aria-busy');
  frame.main.replaceChildren(root);
  setTitle();
  if (!focus) return;
  scrollTo(0, 0);
  frame.main.focus({ preventScroll: true });
}

function askLogin() {
  current.abort();
  stopFollowing();
  frame = null;
  document.title = 'Log in · pgdisque';
  viewLogin(app, start);
}

async function endSession() {
  await logout().catch(() => {});
  askLogin();
}

async function start() {
  try {
    const now = await session();
    if (now.login && !now.user) return void askLogin();
    user = now.user;
    frame = shell(now, { logout: endSession, help });
    app.replaceChildren(frame.root);
    follow(null);
    await showView();
  } catch (error) {
    if (error instanceof LoginError) return void askLogin();
    app.replaceChildren(
      element(
        'main',
        { class: 'login-page' },
        element('section', { class: 'card' }, element('h1', {}, 'No connection'), element('p', {}, bdi(error.message))),
      ),
    );
    setTimeout(start, RETRY_MS);
  }
}

const help = listenKeys({
  search: () => document.getElementById('search')?.focus(),
  reload: () => frame && showView(),
  theme: () => (frame ? frame.nextTheme() : nextTheme()),
});

onFigures(({ server }) => server && frame?.setDead(server.dead), new AbortController().signal);
onLoginNeeded(() => frame && askLogin());
onConnection((state) => frame?.setConnection(state), () => frame && askLogin());
addEventListener('hashchange', () => frame && showView({ focus: true }));
document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  document.getElementById('main')?.focus();
});
start();
