// Numbers, durations and times for people.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export function count(n) {
  return n === null || n === undefined || Number.isNaN(n) ? '–' : whole.format(n);
}

// A number for the axis of a chart.
export function compact(n) {
  return Math.abs(n) < 10000 ? whole.format(n) : short.format(n);
}

// A number a second, without the unit.
export function rate(n) {
  if (n === null || n === undefined || Number.isNaN(n)) return '–';
  return n > 0 && n < 10 ? n.toFixed(1) : whole.format(n);
}

export function plural(n, noun) {
  return `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
}

const UNITS = [
  ['d', 86400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
];

// Seconds as the two largest units: "3d 4h", "12s".
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  let rest = Math.max(0, Math.round(seconds));
  const parts = [];
  for (const [unit, size] of UNITS) {
    if (rest >= size || parts.length > 0) parts.push(`${Math.floor(rest / size)}${unit}`);
    rest %= size;
    if (parts.length === 2) break;
  }
  return parts.filter((part) => !part.startsWith('0') || parts.length === 1).join(' ') || '0s';
}

// Seconds as one unit, for times that change while they are read: "80m", "3h".
function rough(seconds) {
  const [unit, size] = UNITS.find(([, size]) => seconds >= 2 * size) ?? ['s', 1];
  return `${Math.floor(Math.max(0, seconds) / size)}${unit}`;
}

export function milliseconds(ms) {
  if (ms === null || ms === undefined) return '–';
  if (ms < 1000) return `${ms < 10 ? Number(ms.toFixed(2)) : Math.round(ms)} ms`;
  return ms < 10000 ? `${(ms / 1000).toFixed(1)} s` : duration(ms / 1000);
}

export function byteSize(n) {
  if (n < 1024) return plural(n, 'byte');
  const power = Math.min(4, Math.floor(Math.log2(n) / 10));
  return `${(n / 1024 ** power).toFixed(1)} ${['', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`;
}

const dateTime = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat('sv', { timeStyle: 'medium' });
const minute = new Intl.DateTimeFormat('sv', { timeStyle: 'short' });
const day = new Intl.DateTimeFormat('en', { weekday: 'short', hour: '2-digit', minute: '2-digit', hour12: false });

// Milliseconds since 1970 as "2026-11-22 22:30:05", in the time zone of the browser.
export function time(ms) {
  return ms === null || ms === undefined ? '–' : dateTime.format(ms);
}

// The label of a point of a chart of that range.
export function axisTime(ms, range) {
  return { MINUTES: clock, HOURS: minute, DAYS: day }[range].format(ms);
}

export function ago(ms) {
  return ms === null || ms === undefined ? '–' : `${rough((Date.now() - ms) / 1000)} ago`;
}

export function fromNow(ms) {
  if (ms === null || ms === undefined) return 'never';
  return ms <= Date.now() ? 'now' : `in ${rough((ms - Date.now()) / 1000)}`;
}
