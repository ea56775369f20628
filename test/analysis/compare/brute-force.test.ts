import { approvalsKey } from '../../../src/policy-parts/approvals/key.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { comparePolicies } from '../../../src/analysis/compare/compare.ts';
import { kindBetween } from '../../../src/analysis/compare/differences.ts';
import type { Decision, Policy, PolicyDecision } from '../../../src/core/model/policy.ts';
import { decisionWith } from '../../../src/analysis/review/given-approval.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { deciding, policyOf } from '../prove/deciding.ts';
import { randomProperty } from '../prove/random-properties.ts';
import { runs } from '../../support/runs.ts';
import { everyExample, listingsOf, randomEdit, withoutListings } from './random-edits.ts';

const setting = deciding();
const examples = everyExample.map(({ given, when }) => ({
  principal: setting.callerOf(given),
  attempt: setting.attemptOf(when),
}));

/** The kinds of the differences on one example, without an approval and with one. */
function kindsOn(before: Policy, after: Policy, { principal, attempt }: (typeof examples)[number]) {
  const [was, is] = [before, after].map((policy) => policy.decide(principal, attempt)) as [
    PolicyDecision,
    PolicyDecision,
  ];
  const decided = (decision: PolicyDecision, approval: 'none' | 'approved'): Decision =>
    decisionWith(approval, decision, () => approvalsKey.inPlan(decision.plan)?.needed(principal, attempt));
  return (['none', 'approved'] as const).map((approval) => kindBetween(decided(was, approval), decided(is, approval)));
}

/** The scopes that a policy needs in all, in any order. */
function scopesOf(policy: Policy, { principal, attempt }: (typeof examples)[number]): string {
  return policy.decide(principal, attempt).plan.neededScopes(principal).toSorted().join(' ');
}

const differ = ([one, other]: readonly string[]): boolean => one !== other;

/** Every kind of difference, and whether an entry causes it or the policy's own conditions. */
function bruteForce(before: PolicyDocument, after: PolicyDocument): ReadonlySet<string> {
  const both = (part: (document: PolicyDocument) => PolicyDocument = (document) => document) =>
    [policyOf(part(before)), policyOf(part(after))] as const;
  const [whole, listed, own] = [both(), both(listingsOf), both(withoutListings)];
  const found = new Set<string>();
  for (const example of examples) {
    for (const [index, kind] of kindsOn(...whole, example).entries()) {
      const causes = ['policy', 'an entry'].map((cause) => `${kind}, by ${cause}`) as [string, string];
      if (kind === undefined || causes.every((cause) => found.has(cause))) continue;
      const isOwn =
        kindsOn(...listed, example)[index] === undefined &&
        (kindsOn(...own, example)[index] !== undefined || differ(own.map((policy) => scopesOf(policy, example))));
      found.add(causes[isOwn ? 0 : 1]);
    }
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
      { numRuns: runs / 3 },
    );
    expect(outcomes.same).toBeGreaterThan(runs / 60);
    expect(outcomes.different).toBeGreaterThan(runs / 12);
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
