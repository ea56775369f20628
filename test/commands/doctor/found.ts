import type { Finding } from '../../../src/capabilities/finding.ts';

/** Findings as lines without remedies: `ok subject: text`. Each that is not ok must have a remedy. */
export async function linesOf(findings: Promise<readonly Finding[]>): Promise<readonly string[]> {
  return (await findings).map(({ status, subject, text, remedy }) => {
    if ((status === 'ok') !== (remedy === undefined)) throw new Error(`${text}: its remedy is ${remedy}`);
    return `${status} ${subject}: ${text}`;
  });
}
