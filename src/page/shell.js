// The frame of all views: navigation, search, state of the connection, user.
import { show } from './bytes.js';
import { bdi, button, element, icon } from './dom.js';
import { jobAddress, queueAddress } from './router.js';
import { nextTheme, theme } from './theme.js';

const VIEWS = [
  ['overview', 'Overview', '#/'],
  ['queues', 'Queues', '#/queues'],
  ['workers', 'Workers', '#/workers'],
  ['schedules', 'Schedules', '#/schedules'],
  ['nodes', 'Nodes', '#/nodes'],
  ['slowlog', 'Slow log', '#/slowlog'],
  ['doctor', 'Doctor', '#/doctor'],
];
const JOB_ID = /^D-[0-9a-f]{8}-[A-Za-z0-9+/]{24}-[0-9a-f]{4}$/;

function search(text) {
  if (text !== '') location.hash = JOB_ID.test(text) ? jobAddress(text) : queueAddress(text);
}

function searchForm() {
  const input = element('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Job ID or queue',
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
      onsubmit: (event) => {
        event.preventDefault();
        search(input.value.trim());
        input.blur();
      },
    },
    icon('search'),
    input,
    element('kbd', { 'aria-hidden': 'true' }, '/'),
  );
}

function themeButton() {
  const label = element('span', {}, '');
  const node = element(
    'button',
    {
      type: 'button',
      class: 'plain',
      onclick: () => {
        nextTheme();
        draw();
      },
    },
    icon('moon'),
    label,
  );
  const draw = () => {
    label.textContent = `Colours: ${theme()}`;
  };
  draw();
  return node;
}

/* session: that of api.js. Returns { root, main, setView, setConnection }. */
export function shell(session, { logout, help }) {
  const main = element('main', { id: 'main', tabindex: -1 });
  const links = VIEWS.map(([name, label, href]) => element('a', { href, 'data-view': name }, icon(name), label));
  const state = element('span', { class: 'live', role: 'status' }, 'connecting');
  const banner = element('div', { class: 'banner', role: 'alert', hidden: true });
  const menu = element(
    'nav',
    { class: 'menu', id: 'menu', 'aria-label': 'Views' },
    links,
    element(
      'div',
      { class: 'menu-end' },
      themeButton(),
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
    setView(name) {
      openMenu(false);
      for (const link of links) {
        if (link.dataset.view === name) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
      }
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
