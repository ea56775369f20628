import type { PolicyTest, PolicyTestFile } from '../../policy-files/policy-tests.ts';
import { printable } from '../../core/lib/wording.ts';
import type { Config } from '../../ports/config.ts';
import type { Decided } from './coverage.ts';
import { decideAfter } from './earlier-calls.ts';
import { attemptOf, callerOf, foundOf, fulfils } from './described-caller.ts';
import type { Decision, Policy } from '../../core/model/policy.ts';
import type { Expectation, Property } from '../../policy-files/property.ts';
import type { Example } from '../prove/examination.ts';
import { type Deciding, Disagreement, type Proof, prove } from '../prove/prove.ts';
import { flowYaml } from './flow-yaml.ts';

/** A test or property, decided. */
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

interface TestedBy extends Pick<Config, 'policies' | 'scopeHierarchy'> {
  /** The issuer of callers whose test names none. */
  readonly defaultIssuer: string;
}

type CallerSetting = Pick<TestedBy, 'scopeHierarchy' | 'defaultIssuer'>;

/** Runs the tests of one policy, by the code that serves. */
export function runTests(file: PolicyTestFile, by: TestedBy): readonly TestResult[] {
  const policy = policyOf(file, by);
  return file.tests.map(({ test, line }) => {
    const one = decided(test, policy, by);
    const fault = [`wanted ${expectationOf(test.then)}`, `found  ${foundOf(one.decision)}`].map(printable);
    const isAsWanted = fulfils(one.decision, test.then);
    return { ...resultOf(file, test, line), decided: [one], fault: isAsWanted ? undefined : fault };
  });
}

/** Decides the properties of one policy. */
export function runProperties(file: PolicyTestFile, by: TestedBy): readonly TestResult[] {
  const policy = policyOf(file, by);
  const deciding = decidingBy(by);
  return file.properties.map(({ property, line }) => {
    const proof = proofOf(property, policy, deciding);
    const examples = proof.outcome === 'holds' ? proof.examples : [];
    return {
      ...resultOf(file, property, line),
      decided: examples.map((each) => decided(each, policy, by)),
      fault: faultOf(property, proof),
    };
  });
}

function policyOf({ policy: name }: PolicyTestFile, { policies }: TestedBy): Policy {
  const policy = policies.get(name);
  if (policy === undefined) throw new TypeError(`no policy ${name}`);
  return policy;
}

function resultOf({ file, policy }: PolicyTestFile, { name }: { readonly name: string }, line: number) {
  return { policy, file: printable(file), line, name: printable(name) };
}

function decided(
  { given, when }: Pick<PolicyTest, 'given' | 'when'>,
  policy: Policy,
  { scopeHierarchy, defaultIssuer }: CallerSetting,
): Decided {
  const { history: earlier = [], approval = 'none' } = given;
  const principal = callerOf(given, scopeHierarchy, defaultIssuer);
  return decideAfter({ policy, principal, attempt: attemptOf(when), earlier, approval });
}

/** The code that serves, with what a configuration says of callers. */
export function decidingBy(setting: CallerSetting): Deciding {
  const { scopeHierarchy: hierarchy, defaultIssuer } = setting;
  return {
    hierarchy,
    callerOf: (given) => callerOf(given, hierarchy, defaultIssuer),
    attemptOf,
    decide: (policy, example) => decided(example, policy, setting).decision,
  };
}

function faultOf(property: Property, proof: ReturnType<typeof proofOf>): readonly string[] | undefined {
  switch (proof.outcome) {
    case 'holds':
      return undefined;
    case 'fails': {
      const { counterexample, decision } = proof;
      return [
        printable(`wanted ${expectationOf(property.wanted)}`),
        printable(`found  ${foundOf(decision)}`),
        'counterexample, which passes as a test in the same file:',
        ...exampleLines(property.name, counterexample, decision),
      ];
    }
    case 'undecided':
      return proof.why.map((why) => printable(`undecided: ${why}`));
    case 'error':
      return [printable(`internal error: the proof and the gateway disagree, please report it: ${proof.why}`)];
  }
}

function proofOf(
  property: Property,
  policy: Policy,
  deciding: Deciding,
): Proof | { readonly outcome: 'error'; readonly why: string } {
  try {
    return prove(property, policy, deciding);
  } catch (error) {
    if (error instanceof Disagreement) return { outcome: 'error', why: error.message };
    throw error;
  }
}

function expectationOf(wanted: Expectation | PolicyTest['then']): string {
  if (typeof wanted === 'string') return wanted;
  const { deny, challenge } = wanted;
  const reasons = typeof deny === 'string' ? deny : deny.join(' or ');
  return `deny ${reasons}${challenge === undefined ? '' : `, challenge "${challenge}"`}`;
}

function exampleLines(name: string, { given, when }: Example, decision: Decision): readonly string[] {
  return [
    `- name: ${flowYaml(`counterexample of ${name}`)}`,
    `  given: ${flowYaml(given)}`,
    `  when: ${flowYaml(when)}`,
    `  then: ${flowYaml(thenOf(decision))}`,
  ];
}

function thenOf(decision: Decision): unknown {
  if (decision.allow) return decision.shadow === undefined ? 'allow' : 'shadow';
  const { reason, scope } = decision.denial;
  return { deny: reason, ...(scope.length > 0 && { challenge: scope.join(' ') }) };
}
