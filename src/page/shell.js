// The frame of all views: navigation, search, state of the connection, user.
import { run } from './api.js';
import { show } from './bytes.js';
import { bdi, button, element, icon } from './dom.js';
import { count } from './format.js';
import { jobAddress, queueAddress, queuesAddress } from './router.js';
import { nextTheme, theme } from './theme.js';

const VIEWS = [
  ['overview', 'Overview', '#/'],
  ['queues', 'Queues', '#/queues'],
  ['dead', 'Dead jobs', '#/dead'],
  ['workers', 'Workers', '#/workers'],
  ['schedules', 'Schedules', '#/schedules'],
  ['nodes', 'Nodes', '#/nodes'],
  ['slowlog', 'Slow log', '#/slowlog'],
  ['doctor', 'Doctor', '#/doctor'],
];
const JOB_ID = /^D-[0-9a-f]{8}-[A-Za-z0-9+/]{24}-[0-9a-f]{4}$/;

// The ID of a job in the list of this view that has this text, or null.
function listedJob(text) {
  const links = [...document.querySelectorAll('main td a[title^="D-"]')];
  return links.find((link) => link.title.slice(11).startsWith(text))?.title ?? null;
}

// Goes to the job with that ID, also if it is the short form of an ID in this view; to the queue of that name; or to the
// queues whose names contain the text.
async function search(text) {
  const id = JOB_ID.test(text) ? text : text.length >= 12 ? listedJob(text) : null;
  if (id !== null) return jobAddress(id);
  const figures = await run(['QSTAT', text]).catch(() => null);
  return figures === null ? queuesAddress({ filter: text }) : queueAddress(text);
}

function searchForm() {
  const input = element('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Queue or job ID',
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-label': 'Search a job by its ID, or a queue by its name',
    'aria-keyshortcuts': '/',
  });
  return element(
    'form',
    {
      class: 'search',
      role: 'search',
      onsubmit: async (event) => {
        event.preventDefault();
        const text = input.value.trim();
        input.value = '';
        input.blur();
        if (text !== '') location.hash = await search(text);
      },
    },
    icon('search'),
    input,
    element('kbd', { 'aria-hidden': 'true' }, '/'),
  );
}

// A button that changes the colours and names them. A click on it is the same as the key t.
function themeButton() {
  const label = element('span', {}, `Colours: ${theme()}`);
  const change = () => {
    nextTheme();
    label.textContent = `Colours: ${theme()}`;
  };
  return { root: element('button', { type: 'button', class: 'plain', onclick: change }, icon('moon'), label), change };
}

/* session: that of api.js. Returns { root, main, nextTheme, setView, setDead, setConnection }. */
export function shell(session, { logout, help }) {
  const main = element('main', { id: 'main', tabindex: -1 });
  const dead = element('span', { class: 'badge badge-dead', hidden: true });
  const links = VIEWS.map(([name, label, href]) =>
    element('a', { href, 'data-view': name }, icon(name), label, name === 'dead' ? dead : null),
  );
  const colours = themeButton();
  const state = element('span', { class: 'live', role: 'status' }, 'connecting');
  const banner = element('div', { class: 'banner', role: 'alert', hidden: true });
  const menu = element(
    'nav',
    { class: 'menu', id: 'menu', 'aria-label': 'Views' },
    links,
    element(
      'div',
      { class: 'menu-end' },
      colours.root,
      button('Keyboard: ?', help, { class: 'plain' }),
      session.user ? element('p', { class: 'user' }, 'User ', bdi(show(session.user))) : null,
      session.cookie ? button('Log out', logout, { class: 'plain' }) : null,
      element('p', { class: 'user' }, `pgdisque ${show(session.version)}`),
    ),
  );
  const toggle = element(
    'button',
    {
      type: 'button',
      class: 'plain menu-button',
      'aria-label': 'Menu',
      'aria-controls': 'menu',
      'aria-expanded': 'false',
      onclick: () => openMenu(toggle.getAttribute('aria-expanded') === 'false'),
    },
    icon('menu'),
  );
  const root = element(
    'div',
    { class: 'shell' },
    element(
      'header',
      { class: 'top' },
      toggle,
      element(
        'a',
        { class: 'brand', href: '#/' },
        element('img', { src: 'icon.svg', alt: '', width: 22, height: 22 }),
        'pgdisque',
      ),
      searchForm(),
      state,
    ),
    menu,
    element('div', { class: 'content' }, banner, main),
  );

  function openMenu(open) {
    toggle.setAttribute('aria-expanded', String(open));
    root.classList.toggle('menu-open', open);
  }

  return {
    root,
    main,
    nextTheme: colours.change,
    setView(name) {
      openMenu(false);
      for (const link of links) {
        if (link.dataset.view === name) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
      }
    },
    // The number of dead jobs stands in the menu.
    setDead(n) {
      dead.textContent = count(n);
      dead.hidden = n === 0;
    },
    // now: a state of live.js.
    setConnection(now) {
      const text = { live: 'live', lost: 'not connected', refused: 'no live figures' }[now];
      if (state.textContent !== text) state.textContent = text;
      state.classList.toggle('live-on', now === 'live');
      state.title = now === 'refused' ? 'The figures of the server need the right to run INFO.' : '';
      if (now === 'lost') banner.textContent = 'The connection to the server is lost. The page tries to connect again.';
      banner.hidden = now !== 'lost';
    },
  };
}
