// The address after # selects the view: #/queue/NAME?state=dead. Each part may have any bytes (bytes.js).
import { fromAddress, toAddress } from './bytes.js';

function address(path, query = {}) {
  const words = Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  const text = words.map(([name, value]) => `${name}=${toAddress(value)}`).join('&');
  return '#/' + path.map(toAddress).join('/') + (text ? '?' + text : '');
}

// The parts of an address. A malformed address has no parts: no view has it.
export function parse(hash) {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  try {
    const parts = path
      .split('/')
      .filter((part) => part !== '')
      .map(fromAddress);
    const pairs = query.split('&').filter((pair) => pair.includes('='));
    return {
      parts,
      query: Object.fromEntries(
        pairs.map((pair) => {
          const at = pair.indexOf('=');
          return [pair.slice(0, at), fromAddress(pair.slice(at + 1))];
        }),
      ),
    };
  } catch {
    return { parts: ['malformed address'], query: {} };
  }
}

export function queuesAddress(query) {
  return address(['queues'], query);
}

export function queueAddress(name, query) {
  return address(['queue', name], query);
}

export function jobAddress(id) {
  return address(['job', id]);
}

// Changes the query of the current address without a new view.
export function replaceQuery(query) {
  const { parts, query: old } = parse(location.hash);
  history.replaceState(null, '', address(parts, { ...old, ...query }));
}
