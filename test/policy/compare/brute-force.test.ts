import fc from 'fast-check';
import { expect, test } from 'vitest';
import { comparePolicies } from '../../../src/policy/compare/compare.ts';
import { kindBetween } from '../../../src/policy/compare/differences.ts';
import type { Decision, Policy } from '../../../src/model/policy.ts';
import { decisionWith } from '../../../src/policy/approval.ts';
import type { PolicyDocument } from '../../../src/policy/document.ts';
import { deciding, policyOf } from '../prove/deciding.ts';
import { randomProperty } from '../prove/random-properties.ts';
import { runs } from '../../support/runs.ts';
import { everyExample, listingsOf, randomEdit, withoutListings } from './random-edits.ts';

const setting = deciding();
const examples = everyExample.flatMap(({ given, when }) =>
  (['none', 'approved'] as const).map((approval) => {
    return { approval, principal: setting.callerOf(given), attempt: setting.attemptOf(when) };
  }),
);

function decide(policy: Policy, { approval, principal, attempt }: (typeof examples)[number]): Decision {
  const decision = policy.decide(principal, attempt);
  return decisionWith(approval, decision, () => decision.plan.approval(principal, attempt));
}

/** Every kind of difference, and whether an entry causes it or the policy's own conditions. */
function bruteForce(before: PolicyDocument, after: PolicyDocument): ReadonlySet<string> {
  const [was, is] = [policyOf(before), policyOf(after)];
  const [listedBefore, listedAfter] = [policyOf(listingsOf(before)), policyOf(listingsOf(after))];
  const [ownBefore, ownAfter] = [policyOf(withoutListings(before)), policyOf(withoutListings(after))];
  const found = new Set<string>();
  for (const example of examples) {
    const { principal, attempt } = example;
    const kind = kindBetween(decide(was, example), decide(is, example));
    if (kind === undefined) continue;
    const byEntry = kindBetween(decide(listedBefore, example), decide(listedAfter, example));
    const byOwn = kindBetween(decide(ownBefore, example), decide(ownAfter, example));
    const needs = [ownBefore, ownAfter].map((policy) =>
      policy.decide(principal, attempt).plan.neededScopes(principal).toSorted().join(' '),
    );
    const isOwn = byEntry === undefined && (byOwn !== undefined || needs[0] !== needs[1]);
    found.add(`${kind}, by ${isOwn ? 'policy' : 'an entry'}`);
  }
  return found;
}

test(
  'R-248: finds every kind of difference between random policies that a brute force finds, and no other',
  { timeout: 120_000 },
  () => {
    const outcomes = { same: 0, different: 0 };
    fc.assert(
      fc.property(randomEdit, ([before, after]) => {
        const { differences, undecided } = comparePolicies(policyOf(before), policyOf(after), setting);
        const found = differences.flatMap(({ kind, rule, witness }) =>
          witness === undefined
            ? []
            : [`${kind.replace(/^approval .*/, 'approval changed')}, by ${rule === 'policy' ? 'policy' : 'an entry'}`],
        );
        expect(undecided).toEqual([]);
        expect([...new Set(found)].toSorted()).toEqual([...bruteForce(before, after)].toSorted());
        outcomes[found.length === 0 ? 'same' : 'different'] += 1;
      }),
      { numRuns: 200 },
    );
    expect(outcomes.same).toBeGreaterThan(10);
    expect(outcomes.different).toBeGreaterThan(50);
  },
);

test(
  'R-248: the gateway confirms each witness of random policies, and another form of one is no difference',
  {
    timeout: 300_000,
  },
  () => {
    fc.assert(
      fc.property(randomProperty, randomProperty, ({ policy: before }, { policy: after }) => {
        // A witness that the gateway decides in another way throws.
        comparePolicies(policyOf(before), policyOf(after), setting);
        const same = { ...listingsOf(before), all: [withoutListings(before)] };
        const { differences } = comparePolicies(policyOf(before), policyOf(same), setting);
        expect(differences).toEqual([]);
      }),
      { numRuns: Math.ceil(runs / 100), endOnFailure: true },
    );
  },
);
