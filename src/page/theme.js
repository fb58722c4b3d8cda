// The colours: those of the system, or the choice of the user. The choice is kept in the browser.

const NAMES = ['system', 'light', 'dark'];
const listeners = new Set();
const system = matchMedia('(prefers-color-scheme: dark)');

function stored() {
  try {
    return localStorage.getItem('pgdisque-theme');
  } catch {
    return null; // the browser keeps nothing
  }
}

export function theme() {
  return NAMES.includes(stored()) ? stored() : 'system';
}

function apply() {
  const name = theme() === 'system' ? (system.matches ? 'dark' : 'light') : theme();
  document.documentElement.dataset.theme = name;
  listeners.forEach((listener) => listener());
}

export function nextTheme() {
  const name = NAMES[(NAMES.indexOf(theme()) + 1) % NAMES.length];
  try {
    localStorage.setItem('pgdisque-theme', name);
  } catch {
    return;
  }
  apply();
}

export function onTheme(listener, signal) {
  listeners.add(listener);
  signal.addEventListener('abort', () => listeners.delete(listener));
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

system.addEventListener('change', apply);
apply();
