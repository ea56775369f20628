// oxlint-disable unicorn/no-thenable -- a property has it
// oxlint-disable oxc/no-map-spread -- small examples
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { comparePolicies } from '../../../src/analysis/compare/compare.ts';
import { prove } from '../../../src/analysis/prove/prove.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import type { PropertyDocument } from '../../../src/policy-files/property.ts';
import { isExpected } from '../../../src/policy-files/property.ts';
import { runs } from '../../support/runs.ts';
import { compiled, deciding, policyOf, proofOf } from './deciding.ts';

type Claim = Omit<PropertyDocument, 'name'>;

const one = { name: '/tool_name', arguments: '/parameters' };
const batch = { each: '/calls', name: '/name', arguments: '/args' };
const withoutPayments = { not: { scope: 'payments' } };

const bank: PolicyDocument = {
  scope: 'read',
  tools: {
    call_tool: { inner: one },
    run_batch: { scope: 'batch', inner: batch },
    search: {},
    transfer_funds: { scope: 'payments', arguments: { '/amount': { at_most: 1000 } } },
  },
};

const outcomeOf = (document: PolicyDocument, claim: Claim): unknown => {
  const proof = proofOf(document, claim);
  return proof.outcome === 'fails' ? proof.counterexample : proof.outcome;
};

describe('a property of a tool with `then: deny` includes the ways through wrappers', () => {
  test.each<[string, Claim]>([
    ['of a caller without the scope', { for_all: withoutPayments, when: { tool: 'transfer_funds' }, then: 'deny' }],
    [
      'of a limit',
      { for_all: {}, when: { tool: 'transfer_funds', arguments: { '/amount': { above: 1000 } } }, then: 'deny' },
    ],
  ])('%s, through a wrapper of wrappers', (_name, claim) => {
    expect(outcomeOf(bank, claim)).toBe('holds');
  });

  test('and `then: allow` speaks of the direct call', () => {
    expect(outcomeOf(bank, { for_all: { scope: 'read' }, when: { tool: 'search' }, then: 'allow' })).toBe('holds');
  });
});

describe('a property of the wrapper itself', () => {
  test.each<[string, Claim, PolicyDocument, unknown]>([
    [
      'is refused by its own conditions',
      { for_all: { not: { scope: 'batch' } }, when: { tool: 'run_batch' }, then: 'deny' },
      bank,
      'holds',
    ],
    [
      'is refused where all that it can call are',
      { for_all: withoutPayments, when: { tool: 'call_tool' }, then: 'deny' },
      { tools: { call_tool: { inner: one }, run_batch: { inner: batch }, pay: { scope: 'payments' } } },
      'holds',
    ],
    [
      'is refused for the tool that its arguments name',
      {
        for_all: withoutPayments,
        when: { tool: 'call_tool', arguments: { '/tool_name': 'transfer_funds' } },
        then: 'deny',
      },
      bank,
      'holds',
    ],
    [
      'is refuted by a call of what it can call',
      { for_all: { scope: 'read' }, when: { tool: 'call_tool' }, then: 'deny' },
      bank,
      { given: { scope: 'read' }, when: { tool: 'call_tool', arguments: { tool_name: 'search' } } },
    ],
    [
      'is refuted with the arguments that the inner tool wants',
      { for_all: {}, when: { tool: 'run_batch' }, then: 'deny' },
      { tools: { run_batch: { inner: batch }, pay: { arguments: { '/to': 'bob' } } } },
      { given: {}, when: { tool: 'run_batch', arguments: { calls: [{ name: 'pay', args: { to: 'bob' } }] } } },
    ],
    [
      'is refuted by a call without a name, where all should be allowed',
      { for_all: { scope: 'read' }, when: { tool: 'call_tool' }, then: 'allow' },
      bank,
      { given: { scope: 'read' }, when: { tool: 'call_tool' } },
    ],
    [
      'says that a reason depends on what it calls',
      {
        for_all: { not: { scope: 'read' } },
        when: { tool: 'call_tool' },
        then: { deny: ['scope.insufficient', 'argument.denied', 'tool.unlisted'] },
      },
      bank,
      'undecided',
    ],
  ])('%s', (_name, claim, document, expected) => {
    expect(outcomeOf(document, claim)).toEqual(expected);
  });

  test('with `any`, as `init` writes it', () => {
    expect(outcomeOf(bank, { for_all: { not: { scope: 'read' } }, when: 'any', then: 'deny' })).toBe('holds');
  });
});

/** Small policies in which wrappers call wrappers. */
const condition = fc.constantFrom<object>(
  {},
  { scope: 'a' },
  { scope: 'b' },
  { claims: { role: 'x' } },
  { not: { scope: 'a' } },
);
const withArguments = fc.constantFrom<object>(
  {},
  { arguments: { '/n': { at_most: 3 } } },
  { arguments: { '/n': { present: false } } },
);
const document = fc
  .record({
    own: condition,
    outer: condition,
    list: condition,
    tool: condition,
    args: withArguments,
    other: fc.boolean(),
  })
  .map(({ own, outer, list, tool, args, other }): PolicyDocument => {
    const tools = { call: { ...outer, inner: one }, batch: { ...list, inner: batch }, pay: { ...tool, ...args } };
    return { ...own, tools: other ? { ...tools, other: { scope: 'b' } } : tools };
  });
const claim = fc.record({
  for_all: fc.constantFrom<object>(
    {},
    { scope: 'a' },
    { not: { scope: 'a' } },
    { not: { scope: 'b' } },
    { not: { claims: { role: 'x' } } },
  ),
  when: fc.constantFrom<PropertyDocument['when']>(
    { tool: 'pay' },
    { tool: 'call' },
    { tool: 'batch' },
    { tool: 'any' },
    'any',
    { tool: 'call', arguments: { '/tool_name': 'pay' } },
    { tool: 'pay', arguments: { '/n': { above: 3 } } },
  ),
  then: fc.constantFrom<PropertyDocument['then']>('deny', 'deny', 'allow', {
    deny: ['scope.insufficient', 'claim.denied'],
  }),
});

const callers = ['', 'a', 'b', 'a b'].flatMap((scope) =>
  [{}, { role: 'x' }].map((claims) => ({ ...(scope && { scope }), claims })),
);
const direct = [undefined, {}, { n: 1 }, { n: 9 }].flatMap((args) =>
  ['pay', 'other', 'unlisted'].map((tool) => ({ tool, ...(args && { arguments: args }) })),
);
type Call = { readonly tool: string; readonly arguments?: object | undefined };
const through = (calls: readonly Call[]): readonly Call[] =>
  calls.flatMap(({ tool, arguments: args }) => [
    { tool: 'call', arguments: { tool_name: tool, ...(args && { parameters: args }) } },
    { tool: 'batch', arguments: { calls: [{ name: tool, ...(args && { args }) }] } },
  ]);
const wrappedOnce = through(direct);
const every: readonly Call[] = [
  ...direct,
  ...wrappedOnce,
  ...through(wrappedOnce),
  { tool: 'call' },
  { tool: 'batch' },
];
const pairs: readonly Call[] = direct.flatMap((first) => [
  { tool: 'batch', arguments: { calls: [{ name: first.tool, args: first.arguments ?? {} }, { name: 'pay' }] } },
]);

/** The tools that a call reaches. */
function reaches({ tool, arguments: args = {} }: Call): readonly Call[] {
  const { tool_name: name, parameters, calls = [] } = args as Record<string, never>;
  const inner: Call[] = name === undefined ? [] : [{ tool: name, arguments: parameters }];
  for (const each of calls as { name: string; args?: object }[])
    inner.push({ tool: each.name, arguments: each.args ?? {} });
  return [{ tool, arguments: args }, ...inner.flatMap(reaches)];
}

test('no call, through whatever wrappers, refutes what is proved, and the gateway confirms each counterexample', () => {
  const outcomes = { holds: 0, fails: 0, undecided: 0 };
  const by = deciding();
  fc.assert(
    fc.property(document, claim, (policyDocument, property) => {
      const policy = policyOf(policyDocument);
      const proof = prove(compiled(property), policy, by);
      outcomes[proof.outcome] += 1;
      if (proof.outcome !== 'holds') return;
      const { for_all: forAll, when, then } = property;
      const described = policyOf(forAll);
      const meets = ({ tool, arguments: args = {} }: Call): boolean => {
        if (when === 'any') return true;
        const { tool: wanted, arguments: inArguments = {} } = when;
        const [[pointer, bound] = ['', undefined]] = Object.entries(inArguments);
        const value = Reflect.get(args, pointer.slice(1)) as unknown;
        const isMet = pointer === '' || (typeof bound === 'string' ? value === bound : Number(value) > 3);
        return (wanted === 'any' || wanted === tool) && isMet;
      };
      for (const given of callers) {
        if (!described.decide(by.callerOf(given), { kind: 'http' }).allow) continue;
        for (const call of [...every, ...pairs]) {
          // `then: deny` includes what a call reaches.
          if (!(then === 'deny' ? reaches(call).some(meets) : meets(call))) continue;
          const decision = by.decide(policy, { given, when: call as never });
          const refutation = isExpected(decision, then) ? undefined : { policyDocument, property, given, call };
          expect(refutation).toBeUndefined();
        }
      }
    }),
    { numRuns: runs },
  );
  expect(outcomes.holds).toBeGreaterThan(runs / 20);
  expect(outcomes.fails).toBeGreaterThan(runs / 20);
});

describe('a comparison', () => {
  const compare = (after: PolicyDocument): unknown => {
    const { differences, undecided } = comparePolicies(policyOf(bank), policyOf(after), deciding());
    return [
      ...differences.map(({ kind, rule }) => `${rule} ${kind}`),
      ...undecided.map(({ rule, why }) => `${rule}: ${why}`),
    ];
  };
  const edited = (tools: object): PolicyDocument => ({ ...bank, tools: { ...bank.tools, ...tools } });

  test('finds what changed for a tool once, by its direct call', () => {
    expect(compare(edited({ transfer_funds: { scope: 'payments' } }))).toEqual([
      'tools.transfer_funds newly allowed',
      'tools.transfer_funds refused for another reason',
    ]);
  });

  test('names a wrapper that no longer says what it calls', () => {
    expect(compare(edited({ call_tool: {} }))).toEqual([
      'tools.call_tool inner calls changed',
      'tools.call_tool: what such a call calls decides it too',
    ]);
  });
});
