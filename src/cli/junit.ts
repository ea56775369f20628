/** One test case of a JUnit report. */
export interface JunitCase {
  readonly suite: string;
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** Undefined where it passed. */
  readonly failure: string | undefined;
}

/** A report in the XML that CI servers read: one suite for each file of tests. */
export function junit(cases: readonly JunitCase[]): string {
  const suites = Map.groupBy(cases, ({ suite }) => suite);
  const bodies = [...suites].map(([suite, own]) => {
    const failures = own.filter(({ failure }) => failure !== undefined).length;
    const attributes = `name="${escaped(suite)}" tests="${own.length}" failures="${failures}" errors="0" skipped="0"`;
    return `  <testsuite ${attributes}>\n${own.map(caseOf).join('')}  </testsuite>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${bodies.join('')}</testsuites>\n`;
}

function caseOf({ suite, name, file, line, failure }: JunitCase): string {
  const start = `    <testcase classname="${escaped(suite)}" name="${escaped(name)}" file="${escaped(file)}" line="${line}"`;
  if (failure === undefined) return `${start}/>\n`;
  return `${start}>\n      <failure message="${escaped(failure)}"/>\n    </testcase>\n`;
}

/** XML 1.0 §2.2 and §2.4: characters that it has no way to say are replaced. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\u{FFFD}')
    .replaceAll(/[&<>"'\n\r\t]/g, (character) => `&#${character.codePointAt(0)};`);
}
