// The findings of DOCTOR.
import { run } from './api.js';
import { textOf } from './bytes.js';
import { badge, element } from './dom.js';

// The views that show more about a finding.
const VIEWS = {
  'dead-jobs': ['#/dead', 'Dead jobs'],
  'ready-jobs': ['#/queues?sort=oldest&order=down', 'Queues'],
  'running-jobs': ['#/workers', 'Workers'],
  servers: ['#/nodes', 'Nodes'],
  channel: ['#/nodes', 'Nodes'],
};

export async function findings(signal) {
  const text = textOf(await run(['DOCTOR', 'LINES'], signal));
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [severity, check, finding, advice] = line.split('\t');
      return { severity, check, text: finding, advice };
    });
}

export function severityBadge(severity) {
  return badge(severity, { error: 'dead', warning: 'active', note: 'plain' }[severity] ?? 'plain');
}

// A link to the view of the finding, or null.
export function findingLink({ check }) {
  const [href, label] = VIEWS[check] ?? [];
  return href ? element('a', { href }, label) : null;
}
