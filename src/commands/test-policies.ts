import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Loaded, loadWithoutSecrets } from '../serve/config/load.ts';
import { type PolicyTestFile, testsOf } from '../policy-files/policy-tests.ts';
import { ConfigError } from '../core/config/problems.ts';
import { watchFiles } from '../serve/config/watch.ts';
import { printable } from '../core/lib/wording.ts';
import { gapsOf } from '../analysis/review/coverage.ts';
import { runProperties, runTests, type TestResult } from '../analysis/review/run-tests.ts';
import type { OptionsOf } from './options.ts';
import { coloured, type ExitCode, reportProblems, untilSignal } from '../capabilities/terminal.ts';

/** The options of `sallyport test`, and the text that a test must have in its policy or name. */
type TestOptions = OptionsOf<'test'> & { readonly filter: string | undefined };

/** `sallyport test`: runs every test of a policy against the policy as it would be served. */
export async function testPolicies(options: TestOptions): Promise<ExitCode> {
  const { code, files } = await runOnce(options);
  if (!options.watch) return code;
  const watching = await watchFiles(files, () => void again());
  // File watchers do not keep the process alive.
  const alive = setInterval(() => {}, 2 ** 30);
  await untilSignal();
  clearInterval(alive);
  watching.close();
  return 0;

  async function again(): Promise<void> {
    const since = Date.now();
    process.stdout.write(`\n${new Date().toLocaleTimeString()}\n`);
    await watching.follow((await runOnce(options)).files, since);
  }
}

async function runOnce(options: TestOptions): Promise<{ readonly code: ExitCode; readonly files: readonly string[] }> {
  let loaded: Loaded;
  let tests: readonly PolicyTestFile[];
  try {
    loaded = await loadWithoutSecrets(options.config);
    tests = await testsOf(loaded);
  } catch (error) {
    const files = error instanceof ConfigError ? error.files : [];
    return { code: reportProblems(options.config, error), files };
  }
  const all = tests.flatMap((each) => run(each, loaded));
  // The path of a file stands for its policy.
  const part = options.filter?.replace(/^.*\/([\w.-]+?)(?:\.test)?\.yaml$/, '$1') ?? '';
  const rows = all.filter(({ policy, name }) => `${policy} ${name}`.includes(part));
  const gaps = options.filter === undefined ? gapLines(loaded, rows) : [];
  if (options.junit !== undefined) await writeFile(options.junit, junit(rows));
  if (rows.length === 0 && options.filter !== undefined) {
    const policies = [...new Set(all.map(({ policy }) => policy))].join(', ');
    const none = `no test has ${JSON.stringify(options.filter)} in its policy or name`;
    process.stderr.write(`${none}; there are tests of: ${policies}\n`);
    return { code: 1, files: loaded.files };
  }
  process.stdout.write(report(rows, gaps, loaded, options));
  const failed = rows.some(({ fault }) => fault !== undefined) || (options['require-coverage'] && gaps.length > 0);
  return { code: failed ? 1 : 0, files: watched(loaded, tests) };
}

/** The files to watch. The folder of policies is among them, for new files of tests. */
function watched({ files, policyFolder }: Loaded, tests: readonly PolicyTestFile[]): readonly string[] {
  return [...files, ...tests.map(({ file }) => join(policyFolder.path, basename(file)))];
}

function run(file: PolicyTestFile, { config }: Loaded): readonly TestResult[] {
  const [server] = config.authorizationServers.values();
  const by = { ...config, defaultIssuer: server?.issuer ?? '' };
  return [...runTests(file, by), ...runProperties(file, by)].toSorted((one, other) => one.line - other.line);
}

function gapLines({ config, policyFolder }: Loaded, rows: readonly TestResult[]): readonly string[] {
  return [...config.policies.values()].flatMap((policy) => {
    const own = rows.flatMap((row) => (row.policy === policy.name ? row.decided : []));
    const file = `${policyFolder.label}/${policy.name}.yaml`;
    return gapsOf(policy, own).map(({ rule, missing }) => `${file}: ${printable(rule)}: ${missing}\n`);
  });
}

function report(
  rows: readonly TestResult[],
  gaps: readonly string[],
  { config, policyFolder }: Loaded,
  { coverage, 'require-coverage': requireCoverage, filter }: TestOptions,
): string {
  if (rows.length === 0) return `${policyFolder.label}: no tests (NAME.test.yaml)\n`;
  const failed = rows.filter(({ fault }) => fault !== undefined).length;
  const rules = [...config.policies.values()].flatMap((policy) => policy.rules).length;
  const decided = `${rules - gaps.length} of ${rules} rules decided by a test`;
  const untested = gaps.length > 0 && (coverage || requireCoverage) ? `\n${gaps.join('')}` : '';
  const covered = filter === undefined ? `; ${decided}` : '';
  return `${table(rows)}${untested}\n${rows.length - failed} passed, ${failed} failed${covered}\n`;
}

/** A line of an example. It begins where the lines of a file do, so that it can be pasted there. */
const isExample = /^(?:- |  )/;

function table(rows: readonly TestResult[]): string {
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

function junit(rows: readonly TestResult[]): string {
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
