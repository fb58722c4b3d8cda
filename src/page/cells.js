// Parts of tables: times.
import { element } from './dom.js';
import { ago, time } from './format.js';

export function timeNode(ms, text = ago(ms)) {
  return element('time', { title: time(ms) }, text);
}
