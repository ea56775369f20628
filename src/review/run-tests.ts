import type { PolicyTestFile } from '../config/policy-tests.ts';
import { printable } from '../config/wording.ts';
import type { Config } from '../model/config.ts';
import type { Decided } from './coverage.ts';
import { attemptOf, callerOf, foundOf, fulfils, wantedOf } from './test-case.ts';

/** One test, decided. */
export interface TestResult extends Decided {
  readonly policy: string;
  readonly file: string;
  readonly line: number;
  readonly name: string;
  /** What the test wanted and what the policy decided; undefined if the test passed. */
  readonly fault: readonly [wanted: string, found: string] | undefined;
}

/** Runs the tests of one policy, by the code that serves. */
export function runTests(
  { file, policy: name, tests }: PolicyTestFile,
  config: Pick<Config, 'policies' | 'authorizationServers' | 'scopeHierarchy'>,
): readonly TestResult[] {
  const policy = config.policies.get(name);
  if (policy === undefined) throw new TypeError(`no policy ${name}`);
  const [server] = config.authorizationServers.values();
  return tests.map(({ test, line }) => {
    const principal = callerOf(test.given, config.scopeHierarchy, server?.issuer ?? '');
    const attempt = attemptOf(test.when);
    const decision = policy.decide(principal, attempt);
    const wanted = `wanted ${wantedOf(test.then)}`;
    const found = `found  ${foundOf(decision)}`;
    return {
      decision,
      conditions: policy.explain(principal, attempt),
      policy: name,
      file: printable(file),
      line,
      name: printable(test.name),
      fault: fulfils(decision, test.then) ? undefined : [printable(wanted), printable(found)],
    };
  });
}
