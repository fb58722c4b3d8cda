// Values of the server are texts, or {"base64": ...} for bytes that are not UTF-8. These functions show, compare and
// convert them. No function changes the bytes of a value.

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

function escapeByte(code) {
  return '\\x' + code.toString(16).padStart(2, '0');
}

function escapeControl(char) {
  const code = char.codePointAt(0);
  return code < 256 ? escapeByte(code) : '\\u' + code.toString(16).padStart(4, '0');
}

export function isBytes(value) {
  return value !== null && typeof value === 'object' && typeof value.base64 === 'string';
}

function bytesOfBase64(text) {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

// The bytes of a value.
export function toBytes(value) {
  return isBytes(value) ? bytesOfBase64(value.base64) : new TextEncoder().encode(String(value));
}

// A value with its lines. Bytes that are not UTF-8 are replaced.
export function textOf(value) {
  return isBytes(value) ? new TextDecoder().decode(toBytes(value)) : String(value);
}

// A value on one line, for people. Bytes and characters that are invisible, or that turn the direction of text, are
// escaped.
export function show(value) {
  if (value === null || value === undefined) return '';
  if (!isBytes(value)) return String(value).replace(CONTROL, escapeControl);
  return Array.from(toBytes(value), (code) =>
    code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : escapeByte(code),
  ).join('');
}

// A value as one text that no other value has.
export function keyOf(value) {
  return isBytes(value) ? 'b' + value.base64 : 't' + value;
}

// A value as a part of the page's address: a text is escaped as in every address, bytes are ~ and base64url.
export function toAddress(value) {
  if (isBytes(value)) return '~' + value.base64.replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  const text = String(value);
  return encodeURIComponent(text.startsWith('~') ? '~' + text : text).replace(/%3A/g, ':');
}

// The value of a part that toAddress() has made. Throws an error if the part is malformed.
export function fromAddress(part) {
  const text = decodeURIComponent(part);
  if (!text.startsWith('~')) return text;
  if (text.startsWith('~~')) return text.slice(1);
  const base64 = text.slice(1).replace(/-/g, '+').replace(/_/g, '/');
  return { base64: btoa(atob(base64)) };
}

// The bytes as lines of an offset, 16 bytes, and their printable characters.
export function hexDump(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = Array.from(bytes.subarray(at, at + 16));
    const hex = row.map((code) => code.toString(16).padStart(2, '0')).join(' ');
    const chars = row.map((code) => (code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '.')).join('');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${chars}`);
  }
  return lines.join('\n');
}

// The headline of an error: its first line, or the last line of a traceback of Python.
export function headline(error) {
  const lines = textOf(error ?? '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return (/^Traceback \(most recent call last\)/.test(lines[0]) ? lines.at(-1) : (lines[0] ?? '')).trim();
}

// The first characters of a value on one line.
export function preview(value, length = 120) {
  const bytes = isBytes(value);
  const head = bytes ? { base64: value.base64.slice(0, 4 * length) } : String(value ?? '').slice(0, length);
  const text = show(head);
  const cut = bytes ? value.base64.length > 4 * length || text.length > length : String(value ?? '').length > length;
  return cut ? text.slice(0, length) + '…' : text;
}
