// The doctor: problems of the database and of the server, with advice.
import { bdi, button, element, head } from './dom.js';
import { findingLink, findings, severityBadge } from './findings.js';
import { plural, time } from './format.js';

function finding(f) {
  return element(
    'li',
    { class: 'card finding' },
    element('header', {}, severityBadge(f.severity), element('code', {}, f.check), findingLink(f)),
    element('p', {}, bdi(f.text)),
    element('p', { class: 'muted' }, bdi(f.advice)),
  );
}

export async function viewDoctor({ root, signal, reload }) {
  const list = await findings(signal);
  const summary =
    list.length === 0 ? 'The doctor has found nothing.' : `The doctor has ${plural(list.length, 'finding')}.`;

  root.append(
    head('Doctor', button('Check again', reload)),
    element('p', { class: 'muted' }, `${summary} Checked at ${time(Date.now())}.`),
    element('ul', { class: 'findings' }, list.map(finding)),
  );
}
