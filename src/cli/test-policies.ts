import { type Loaded, load } from '../config/load.ts';
import { type PolicyTestFile, readPolicyTests } from '../config/policy-tests.ts';
import { ConfigError, printable } from '../config/problems.ts';
import type { ExitCode } from './exit-code.ts';
import { reportProblems } from './report-problems.ts';
import { attemptOf, callerOf, foundOf, fulfils, wantedOf } from './test-case.ts';

/** One test, decided. */
interface Row {
  readonly file: string;
  readonly line: number;
  readonly name: string;
  /** What was wanted and what was found; undefined where it passed. */
  readonly fault: readonly [wanted: string, found: string] | undefined;
}

/** `sallyport test`, contract §3 and §4: runs every test of a policy against the policy as it would be served. */
export async function testPolicies(file: string): Promise<ExitCode> {
  let loaded: Loaded;
  let files: readonly PolicyTestFile[];
  try {
    loaded = await load(file);
    files = await testFiles(loaded);
  } catch (error) {
    return reportProblems(file, error);
  }
  const rows = files.flatMap((each) => run(each, loaded));
  if (rows.length === 0) {
    process.stdout.write(`${loaded.policyFolder.shownAs}: no tests (NAME.test.yaml)\n`);
    return 0;
  }
  process.stdout.write(table(rows));
  const failed = rows.filter(({ fault }) => fault !== undefined).length;
  process.stdout.write(`\n${rows.length - failed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

/** @throws {ConfigError} with everything that is wrong with them. */
async function testFiles({ config, policyFolder }: Loaded): Promise<readonly PolicyTestFile[]> {
  const { path, shownAs } = policyFolder;
  const { files, problems } = await readPolicyTests(path, shownAs, new Set(config.policies.keys()));
  if (problems.length > 0) throw new ConfigError(problems, []);
  return files;
}

function run({ file, policy: name, tests }: PolicyTestFile, { config }: Loaded): readonly Row[] {
  const policy = config.policies.get(name);
  if (policy === undefined) throw new TypeError(`no policy ${name}`);
  const [server] = config.authorizationServers.values();
  return tests.map(({ test, line }) => {
    const principal = callerOf(test.given, config.scopeHierarchy, server?.issuer ?? '');
    const decision = policy.decide(principal, attemptOf(test.when));
    const wanted = `wanted ${wantedOf(test.then)}`;
    const found = `found  ${foundOf(decision)}`;
    return {
      file: printable(file),
      line,
      name: printable(test.name),
      fault: fulfils(decision, test.then) ? undefined : [printable(wanted), printable(found)],
    };
  });
}

function table(rows: readonly Row[]): string {
  const fileWidth = Math.max(...rows.map(({ file }) => file.length));
  const nameWidth = Math.max(...rows.map(({ name }) => name.length));
  const lines = rows.map(({ file, line, name, fault }) => {
    const start = `${file.padEnd(fileWidth)}  ${name.padEnd(nameWidth)}  `;
    if (fault === undefined) return `${start}ok\n`;
    // Where it is in the text, so that a terminal can open it.
    return `${start}FAILED\n  ${file}:${line}\n    ${fault.join('\n    ')}\n`;
  });
  return lines.join('');
}
