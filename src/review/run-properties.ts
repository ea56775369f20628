import type { PolicyTestFile } from '../config/policy-tests.ts';
import { printable } from '../lib/wording.ts';
import type { Decision, Policy } from '../model/policy.ts';
import type { Expectation, Property } from '../policy/property.ts';
import type { Example } from '../policy/prove/examination.ts';
import { type Deciding, Disagreement, type Proof, prove } from '../policy/prove/prove.ts';
import type { Decided } from './coverage.ts';
import { decideAfter } from './earlier-calls.ts';
import { flowYaml } from './flow-yaml.ts';
import type { TestedBy, TestResult } from './run-tests.ts';
import { attemptOf, callerOf, foundOf } from './test-case.ts';

/** Decides the properties of one policy. */
export function runProperties({ file, policy: name, properties }: PolicyTestFile, by: TestedBy): readonly TestResult[] {
  const policy = by.policies.get(name);
  if (policy === undefined) throw new TypeError(`no policy ${name}`);
  const deciding = decidingBy(by);
  return properties.map(({ property, line }) => {
    const proof = proofOf(property, policy, deciding);
    return {
      policy: name,
      file: printable(file),
      line,
      name: printable(property.name),
      decided: proof.outcome === 'holds' ? proof.examples.map((each) => decided(each, policy, deciding)) : [],
      fault: faultOf(property, proof),
    };
  });
}

function decided({ given, when }: Example, policy: Policy, { callerOf, attemptOf }: Deciding): Decided {
  const { history: earlier = [], approval = 'none' } = given;
  return decideAfter({ policy, principal: callerOf(given), attempt: attemptOf(when), earlier, approval });
}

/** The code that serves, with what a configuration says of callers. */
export function decidingBy({
  scopeHierarchy: hierarchy,
  defaultIssuer,
}: Pick<TestedBy, 'scopeHierarchy' | 'defaultIssuer'>): Deciding {
  const deciding: Deciding = {
    hierarchy,
    callerOf: (given) => callerOf(given, hierarchy, defaultIssuer),
    attemptOf,
    decide: (policy, example) => decided(example, policy, deciding).decision,
  };
  return deciding;
}

/** What is wrong with a property, in lines; undefined if it holds. */
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

function expectationOf(wanted: Expectation): string {
  if (typeof wanted === 'string') return wanted;
  const { deny, challenge } = wanted;
  const reasons = typeof deny === 'string' ? deny : deny.join(' or ');
  return `deny ${reasons}${challenge === undefined ? '' : `, challenge "${challenge}"`}`;
}

/** An example as it stands in a file of tests, with the decision that was found. */
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
