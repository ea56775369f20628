// oxlint-disable unicorn/no-thenable -- `then` is a key of properties.
import { expect, test } from 'vitest';
import type { ConditionDocument, PolicyDocument } from '../../../src/core/policy/document.ts';
import type { PropertyDocument } from '../../../src/policy-files/property.ts';
import { prove } from '../../../src/analysis/prove/prove.ts';
import { compiled, deciding, policyOf } from './deciding.ts';

type Wanted = 'allow' | 'deny' | { readonly deny: 'actor.denied' };

const one: PolicyDocument = { actors: { count: { at_most: 1 } } };
const seven: PolicyDocument = { actors: { current: 'agent-7' } };

test.for<[PolicyDocument, ConditionDocument, Wanted, string]>([
  [one, { actors: { count: { above: 1 } } }, { deny: 'actor.denied' }, 'holds'],
  [one, { actors: { count: [0, 1] } }, 'allow', 'holds'],
  [one, { actors: { count: { at_least: 1 } } }, 'deny', 'fails'],
  [seven, { not: { actors: { current: 'agent-7' } } }, { deny: 'actor.denied' }, 'holds'],
  [seven, { actors: { count: 0 } }, 'deny', 'holds'],
  [seven, { actors: { each: 'agent-7' } }, 'allow', 'fails'],
  [seven, { actors: { count: { at_least: 1 }, each: 'agent-7' } }, 'allow', 'holds'],
  [{ actors: { each: { matches: '^agent-' } } }, { actors: { current: 'cron' } }, 'deny', 'holds'],
  [{ actors: { each: { matches: '^agent-' } } }, { actors: { current: 'agent-7' } }, 'allow', 'fails'],
  // The same claim, as `claims` reads it.
  [seven, { claims: { '/act/sub': 'agent-7' } }, 'allow', 'holds'],
  [one, { claims: { '/act/act/sub': { present: true } } }, 'deny', 'holds'],
  [one, { claims: { act: { present: false } } }, 'allow', 'holds'],
  // A token has no other `act` than the gateway reads.
  [seven, { claims: { act: 5 } }, 'allow', 'holds'],
  [{ actors: { current: { claim: 'sub' } } }, { actors: { current: { claim: 'sub' } } }, 'allow', 'holds'],
  [{ actors: { count: { at_most: { claim: 'most' } } } }, {}, 'allow', 'undecided'],
])('%j for %j: %j %s', ([policy, forAll, then, outcome]) => {
  const property: PropertyDocument = { name: 'p', for_all: forAll, when: {}, then };
  expect(prove(compiled(property), policyOf(policy), deciding()).outcome).toBe(outcome);
});

test('a counterexample describes the chain', () => {
  const property: PropertyDocument = { name: 'p', for_all: {}, when: {}, then: 'allow' };
  expect(prove(compiled(property), policyOf(one), deciding())).toMatchObject({
    counterexample: { given: { claims: { act: { act: { sub: expect.any(String) }, sub: expect.any(String) } } } },
  });
});
