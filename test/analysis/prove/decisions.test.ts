import { expect, test } from 'vitest';
import { decisionWith } from '../../../src/analysis/review/given-approval.ts';
import { approvalsIn } from '../../../src/analysis/prove/parts.ts';
import { approvalsKey } from '../../../src/policy-parts/approvals/key.ts';
import { historyKey } from '../../../src/policy-parts/history/key.ts';
import { mcpMethod } from '../../../src/core/model/mcp.ts';
import { compiledRules } from '../../../src/core/policy/compile.ts';
import type { ConditionDocument, PolicyDocument } from '../../../src/core/policy/document.ts';
import { callsIn } from '../../../src/analysis/prove/calls.ts';
import { countingOf, noHistories } from '../../../src/analysis/prove/over-time.ts';
import { planFor } from '../../../src/core/policy/plan.ts';
import { challengeIs, decisionsOn } from '../../../src/analysis/prove/decisions.ts';
import { holds } from '../../../src/analysis/prove/formula.ts';
import { Space } from '../../../src/analysis/prove/space.ts';
import { deciding, policyOf } from './deciding.ts';

const setting = deciding();
const trader: ConditionDocument = { claims: { role: 'trader' } };
const risk: ConditionDocument = { claims: { risk: { below: 50 } } };
const short: ConditionDocument = { max_lifetime: '60s' };

function approvedBy(by: ConditionDocument): PolicyDocument {
  return { tools: { pay: { approval: { by } } } };
}

/** Each combination of one class of every variable. */
function combinations(domains: readonly bigint[]): readonly (readonly number[])[] {
  return domains.reduce<readonly (readonly number[])[]>(
    (chosen, domain) =>
      chosen.flatMap((classes) => Array.from({ length: domain.toString(2).length }, (_, index) => [...classes, index])),
    [[]],
  );
}

/** What the formulas say for each class of callers and calls, and what the code that serves decides of one of them. */
function bothOn(document: PolicyDocument): readonly (readonly [formulas: unknown, serving: unknown])[] {
  const policy = policyOf(document);
  const rules = compiledRules(policy);
  return callsIn({ kind: 'any' }, [rules]).flatMap(({ when, kinds: [kind] }) => {
    if (when === undefined || kind === undefined) return [];
    const plan = planFor(rules, kind);
    const { own, owners } = historyKey.inPlan(plan) ?? { own: [], owners: [] };
    const countings = [...own, ...owners].map(countingOf);
    const approvals = approvalsIn(plan);
    const conditions = [
      ...plan.conditions,
      ...countings.flatMap(({ owner }) => owner),
      ...approvals.map(({ condition }) => condition),
    ];
    const inArguments = [
      ...plan.steps.flatMap((step) => (step.on === 'argument' ? step.argument : [])),
      ...countings.flatMap(({ countable }) => countable),
      ...approvals.flatMap((approval) => approval.arguments),
    ];
    const asks = approvals.flatMap((approval) => approval.asks);
    const space = new Space(conditions, inArguments, setting, asks);
    const possible = decisionsOn(plan, space, noHistories);
    return combinations(space.variables.all)
      .filter((classes) => holds(space.constraint, classes))
      .map((classes) => {
        const { given, arguments: args } = space.described(classes);
        const call = { ...when, ...(Object.keys(args).length > 0 && { arguments: args }) };
        const [principal, attempt] = [setting.callerOf(given), setting.attemptOf(call)];
        const alone = policy.decide(principal, attempt);
        const needed = () => approvalsKey.inPlan(alone.plan)?.needed(principal, attempt);
        const decision = decisionWith(given.approval ?? 'none', alone, needed);
        const denial = decision.allow ? undefined : decision.denial;
        const scope = denial?.scope ?? [];
        const of = JSON.stringify([given, call]);
        const made = possible
          .filter((each) => holds(each.when, classes))
          .map(({ reason, rule, asked }) => {
            const isAsked = holds(challengeIs(scope, asked), classes);
            const otherwise = [[...scope, 'x'], scope.slice(1), scope.toReversed()]
              .filter((each) => each.join(' ') !== scope.join(' '))
              .some((each) => holds(challengeIs(each, asked), classes));
            return { reason, rule, isAsked, otherwise };
          });
        return [
          { of, made },
          { of, made: [{ reason: denial?.reason, rule: denial?.rule, isAsked: true, otherwise: false }] },
        ] as const;
      });
  });
}

test.each<[what: string, policy: PolicyDocument]>([
  [
    'rules over time',
    {
      scope: 'read',
      tools: {
        approve: {},
        disburse: {
          after: { tool: 'approve', within: '1h', same: ['/id'], by: 'tenant' },
          quota: [{ sum: '/amount', at_most: 10, per: '1h', by: 'client' }],
        },
      },
    },
  ],
  [
    'a sum of integers of every caller',
    { tools: { pay: { quota: [{ sum: '/units', at_most: 5, integer: true, per: '1h', by: 'everyone' }] } } },
  ],
  ['nothing at all', {}],
  ['an approval by anyone', { tools: { pay: { scope: 'pay', approval: { by: {} } } } }],
  [
    'an approval of some calls, of callers with a claim',
    { tools: { pay: { approval: { when: { ...trader, arguments: { '/amount': { above: 10 } } }, by: {} } } } },
  ],
  ['an approval that nobody can give', { tools: { pay: { approval: { by: { not: {} } } } } }],
  ['an approval by a colleague', approvedBy({ claims: { tenant: { caller: 'tenant' } } })],
  ['an approval by a stranger', approvedBy({ claims: { tenant: { not: { caller: 'tenant' } } } })],
  ['an approval by no colleague', approvedBy({ not: { claims: { tenant: { caller: 'tenant' } } } })],
  ['an approval by a person with a claim of its own', approvedBy({ claims: { tenant: { claim: 'org' } } })],
  [
    'an approval by a colleague without a role',
    approvedBy({ claims: { tenant: { caller: 'tenant' } }, not: { claims: { role: 'x' } } }),
  ],
  [
    'an approval by a colleague with a claim of its own',
    approvedBy({ claims: { tenant: { caller: 'tenant' }, team: { claim: 'org' } } }),
  ],
  [
    'an approval by a colleague in one of two ways',
    approvedBy({ any: [{ claims: { tenant: { caller: 'tenant' } } }, { claims: { org: { caller: 'org' } } }] }),
  ],
  [
    'an approval by a colleague in both ways',
    approvedBy({ claims: { tenant: { caller: 'tenant' }, org: { caller: 'org' } } }),
  ],
  [
    'approvals of a method and of a tool',
    {
      methods: { 'tools/call': { approval: { by: { claims: { org: { caller: 'org' } } } } } },
      ...approvedBy({ claims: { tenant: { caller: 'tenant' } } }),
    },
  ],
  ['an exclusion of every caller', { not: {}, ...trader }],
  [
    'prompts with arguments and rules over time, which their completion does not have',
    {
      prompts: {
        greet: { scope: 'read', arguments: { '/name': 'x' }, quota: [{ sum: '/units', at_most: 5, per: '1h' }] },
      },
    },
  ],
  ['scopes', { scope: 'read pay' }],
  ['each kind of condition', { scope: 'read', ...trader, ...short, not: { claims: { risk: 5 } } }],
  ['a sign-in beside each kind of condition', { scope: 'read', ...trader, ...short, acr: 'mfa' }],
  ['a sign-in beside an entry that refuses', { acr: 'mfa', tools: { one: trader } }],
  ['alternatives of each kind', { any: [{ scope: 'read' }, trader, short, { acr: 'mfa' }] }],
  [
    'alternatives of several conditions',
    { any: [{ scope: 'read pay', ...trader }, { scope: 'audit', ...short }, risk] },
  ],
  ['alternatives that all refuse', { any: [trader, risk] }],
  ['alternatives about lifetimes alone', { any: [short, { max_lifetime: '5s' }] }],
  ['alternatives inside alternatives', { any: [{ any: [{ scope: 'a b' }, trader] }, { scope: 'b c' }] }],
  ['several groups', { all: [{ any: [{ scope: 'a' }, { scope: 'b' }] }, { any: [{ scope: 'b' }, short] }, trader] }],
  ['`not` of each kind', { not: { any: [{ scope: 'read' }, { ...trader, ...short }] }, scope: 'pay' }],
  ['a scope that is asked for twice', { scope: 'a b', any: [{ scope: 'b a' }, { scope: 'c a' }] }],
  ['tools without conditions', { scope: 'read', tools: { one: {} } }],
  [
    'tools with conditions and arguments',
    {
      scope: 'read',
      ...trader,
      tools: { one: { scope: 'pay read', ...risk, ...short, arguments: { '/amount': { at_most: 5 }, '/to': 'me' } } },
    },
  ],
  ['an entry with alternatives', { any: [{ scope: 'a' }, short], tools: { one: { any: [{ scope: 'b' }, trader] } } }],
  [
    'methods and tools',
    { methods: { 'tools/call': { scope: 'call', ...trader } }, tools: { one: { scope: 'one', ...risk } } },
  ],
])('R-267: formulas and the gateway decide alike, for every class of callers and calls: %s', (_what, policy) => {
  const both = bothOn(policy);
  expect(both.length).toBeGreaterThan(0);
  expect(both.map(([formulas]) => formulas)).toEqual(both.map(([, serving]) => serving));
});

test('a call that is not listed is allowed by no decision, and needs no scopes', () => {
  const rules = compiledRules(policyOf({ scope: 'read', tools: { one: {} } }));
  const unlisted = { reason: 'tool.unlisted', rule: 'tools', kind: 'tool', name: 'two' } as const;
  const plan = planFor(rules, { method: mcpMethod('tools/call'), entries: unlisted });
  const decisions = decisionsOn(plan, new Space(plan.conditions, [], setting), noHistories);
  expect(decisions).toEqual([{ reason: 'tool.unlisted', rule: 'tools', when: true, asked: [] }]);
});
