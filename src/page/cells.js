// Parts of tables: links to queues, times.
import { show } from './bytes.js';
import { bdi, element } from './dom.js';
import { ago, time } from './format.js';
import { queueAddress } from './router.js';

// A long name has two lines. Its title has all of it.
export function queueLink(name, query) {
  return element('a', { href: queueAddress(name, query), class: 'name', title: show(name) }, bdi(show(name)));
}

export function timeNode(ms, text = ago(ms)) {
  return element('time', { title: time(ms) }, text);
}
