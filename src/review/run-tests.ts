import type { PolicyTestFile } from '../config/policy-tests.ts';
import { printable } from '../lib/wording.ts';
import type { Config } from '../model/config.ts';
import type { Decided } from './coverage.ts';
import { decideAfter } from './earlier-calls.ts';
import { attemptOf, callerOf, foundOf, fulfils, wantedOf } from './test-case.ts';

/** One test or property, decided. */
export interface TestResult {
  readonly policy: string;
  readonly file: string;
  readonly line: number;
  readonly name: string;
  /** What was decided; for a property that holds an example of each kind of calls that it describes. */
  readonly decided: readonly Decided[];
  /** What was wanted and what was found, in lines; undefined if the test passed. */
  readonly fault: readonly string[] | undefined;
}

/** What tests are run with. */
export interface TestedBy extends Pick<Config, 'policies' | 'scopeHierarchy'> {
  /** The issuer of callers whose test names none. */
  readonly defaultIssuer: string;
}

/** Runs the tests of one policy, by the code that serves. */
export function runTests(
  { file, policy: name, tests }: PolicyTestFile,
  { policies, scopeHierarchy, defaultIssuer }: TestedBy,
): readonly TestResult[] {
  const policy = policies.get(name);
  if (policy === undefined) throw new TypeError(`no policy ${name}`);
  return tests.map(({ test, line }) => {
    const principal = callerOf(test.given, scopeHierarchy, defaultIssuer);
    const attempt = attemptOf(test.when);
    const { history: earlier = [], approval = 'none' } = test.given;
    const decided = decideAfter({ policy, principal, attempt, earlier, approval });
    const { decision } = decided;
    const wanted = `wanted ${wantedOf(test.then)}`;
    const found = `found  ${foundOf(decision)}`;
    return {
      decided: [decided],
      policy: name,
      file: printable(file),
      line,
      name: printable(test.name),
      fault: fulfils(decision, test.then) ? undefined : [printable(wanted), printable(found)],
    };
  });
}
