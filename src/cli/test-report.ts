import type { TestResult } from '../review/run-tests.ts';
import { coloured } from './colour.ts';

/** A line of an example. It begins where the lines of a file do, so that it can be pasted there. */
const isExample = /^(?:- |  )/;

/** The rows for a terminal: one line each, and more for one that failed. */
export function table(rows: readonly TestResult[]): string {
  const fileWidth = Math.max(...rows.map(({ file }) => file.length));
  const nameWidth = Math.max(...rows.map(({ name }) => name.length));
  const lines = rows.map(({ file, line, name, fault }) => {
    const start = `${file.padEnd(fileWidth)}  ${name.padEnd(nameWidth)}  `;
    if (fault === undefined) return `${start}${coloured('good', 'ok')}\n`;
    // The place of the test, so that a terminal can open it.
    const lines = fault.map((each) => (isExample.test(each) ? each : `    ${each}`));
    return `${start}${coloured('bad', 'FAILED')}\n  ${file}:${line}\n${lines.join('\n')}\n`;
  });
  return lines.join('');
}

/** A report in the XML that CI servers read: one suite for each file of tests. */
export function junit(rows: readonly TestResult[]): string {
  const suites = Map.groupBy(rows, ({ policy }) => policy);
  const bodies = [...suites].map(([suite, own]) => {
    const failures = own.filter(({ fault }) => fault !== undefined).length;
    const attributes = `name="${escaped(suite)}" tests="${own.length}" failures="${failures}" errors="0" skipped="0"`;
    return `  <testsuite ${attributes}>\n${own.map(testcase).join('')}  </testsuite>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${bodies.join('')}</testsuites>\n`;
}

function testcase({ policy, name, file, line, fault }: TestResult): string {
  const place = `file="${escaped(file)}" line="${line}"`;
  const start = `    <testcase classname="${escaped(policy)}" name="${escaped(name)}" ${place}`;
  if (fault === undefined) return `${start}/>\n`;
  return `${start}>\n      <failure message="${escaped(fault.join('; '))}"/>\n    </testcase>\n`;
}

/** XML 1.0 §2.2 and §2.4: characters that XML cannot hold are replaced. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\u{FFFD}')
    .replaceAll(/[&<>"'\n\r\t]/g, (character) => `&#${character.codePointAt(0)};`);
}
