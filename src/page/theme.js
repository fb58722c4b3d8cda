// The colours: those of the system, or the choice of the user.
import { store, stored } from './prefs.js';

const NAMES = ['system', 'light', 'dark'];
const listeners = new Set();
const system = matchMedia('(prefers-color-scheme: dark)');
let chosen = NAMES.includes(stored('theme')) ? stored('theme') : 'system';

export function theme() {
  return chosen;
}

function apply() {
  document.documentElement.dataset.theme = chosen === 'system' ? (system.matches ? 'dark' : 'light') : chosen;
  listeners.forEach((listener) => listener());
}

export function nextTheme() {
  chosen = NAMES[(NAMES.indexOf(chosen) + 1) % NAMES.length];
  store('theme', chosen);
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
