// The findings of DOCTOR.
import { run } from './api.js';
import { textOf } from './bytes.js';
import { badge } from './dom.js';

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
