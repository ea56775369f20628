import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import type { PropertyDocument } from '../../../src/policy-files/property.ts';
import { proofOf } from './deciding.ts';

/** Readers may list; short-lived tokens of traders may move up to 1,000. */
const bank: PolicyDocument = {
  scope: 'read',
  tools: {
    list_accounts: {},
    transfer_funds: {
      scope: 'payments',
      claims: { role: 'trader' },
      arguments: { '/amount': { at_most: 1000 } },
      max_lifetime: '60s',
    },
  },
};

/** The proof of a property in YAML: `holds`, the example that refutes it with its decision, or why it is undecided. */
function proved(policy: PolicyDocument, property: string, scopes?: Parameters<typeof proofOf>[2]): unknown {
  const proof = proofOf(policy, parse(`{ ${property} }`) as PropertyDocument, scopes);
  if (proof.outcome === 'holds') return 'holds';
  if (proof.outcome === 'undecided') return proof.why;
  const { given, when } = proof.counterexample;
  const { decision } = proof;
  return [given, when, decision.allow ? 'allow' : decision.denial.reason];
}

const transfer = { tool: 'transfer_funds' };
const short = { scope: 'read payments', claims: { role: 'trader' }, lifetime: '60s' };
const notTraders = 'for_all: { not: { claims: { role: trader } } }';

describe('of the policy of a bank', () => {
  test.each([
    ['only traders move money', `${notTraders}, when: { tool: transfer_funds }, then: deny`],
    [
      'no caller moves more',
      'for_all: {}, when: { tool: transfer_funds, arguments: { /amount: { above: 1000 } } }, then: deny',
    ],
    ['every reader lists accounts', 'for_all: { scope: read }, when: { tool: list_accounts }, then: allow'],
    [
      'nothing else can be called',
      'for_all: {}, when: { tool: { not: [list_accounts, transfer_funds] } }, then: { deny: [tool.unlisted, scope.insufficient] }',
    ],
    [
      'the challenge names both scopes',
      `for_all: { claims: { role: trader }, not: { scope: payments }, max_lifetime: 60s },
       when: { tool: transfer_funds, arguments: { /amount: 10 } },
       then: { deny: scope.insufficient, challenge: read payments }`,
    ],
    ['without the scope nothing is allowed', 'for_all: { not: { scope: read } }, when: any, then: deny'],
  ])('%s', (_what, property) => expect(proved(bank, property)).toBe('holds'));

  test.each([
    [
      'traders move money',
      'for_all: { claims: { role: trader } }, when: { tool: transfer_funds }, then: deny',
      [short, { ...transfer, arguments: { amount: 0 } }, 'allow'],
    ],
    [
      'a caller moves exactly 1,000',
      'for_all: {}, when: { tool: transfer_funds, arguments: { /amount: { above: 999 } } }, then: deny',
      [short, { ...transfer, arguments: { amount: 1000 } }, 'allow'],
    ],
    [
      'a caller without the scope lists none',
      'for_all: {}, when: { tool: list_accounts }, then: allow',
      [{}, { tool: 'list_accounts' }, 'scope.insufficient'],
    ],
    [
      'a refusal may have another reason',
      'for_all: {}, when: { tool: { not: list_accounts } }, then: { deny: tool.unlisted }',
      [{}, transfer, 'claim.denied'],
    ],
    [
      'a challenge has an order',
      `for_all: { claims: { role: trader }, scope: read, max_lifetime: 60s },
       when: { tool: transfer_funds, arguments: { /amount: 10 } },
       then: { deny: scope.insufficient, challenge: payments read }`,
      [{ ...short, scope: 'read' }, { ...transfer, arguments: { amount: 10 } }, 'scope.insufficient'],
    ],
    ['a request on an HTTP route', 'for_all: {}, when: {}, then: deny', [{ scope: 'read' }, {}, 'allow']],
    [
      'housekeeping is allowed',
      'for_all: {}, when: { method: any }, then: deny',
      [{ scope: 'read' }, { method: 'initialize' }, 'allow'],
    ],
  ])('%s, which refutes a property', (_what, property, refutation) =>
    expect(proved(bank, property)).toEqual(refutation),
  );
});

test('a property that holds has an example of each kind of calls that it describes', () => {
  const property = parse('{ for_all: { scope: read }, when: { tool: any }, then: deny }') as PropertyDocument;
  const refusing: PolicyDocument = { ...bank, not: {} };
  expect(proofOf(refusing, property)).toEqual({
    outcome: 'holds',
    examples: ['list_accounts', 'transfer_funds', 'x'].map((tool) => ({ given: { scope: 'read' }, when: { tool } })),
  });
});

test('a property that holds has an example of each rule that refuses what it describes', () => {
  const property = parse(
    '{ for_all: {}, when: { tool: transfer_funds, arguments: { /amount: { above: 1000 } } }, then: deny }',
  ) as PropertyDocument;
  const proof = proofOf(bank, property);
  const roles = proof.outcome === 'holds' ? proof.examples.map(({ given }) => given.claims) : [];
  // Without the role the claim refuses, with it the argument.
  expect(roles).toEqual([undefined, { role: 'trader' }]);
});

test.each(['pay', '', 'read', 'pay read'])(
  'R-267: the challenge "%s" is not proved where another one is sent',
  (challenge) => {
    const property = `for_all: { not: { scope: read } }, when: {}, then: { deny: scope.insufficient, challenge: "${challenge}" }`;
    expect(proved({ scope: 'read pay' }, property)).toEqual([{}, {}, 'scope.insufficient']);
  },
);

test('a broader scope has all that it implies', () => {
  const policy: PolicyDocument = { scope: 'read' };
  const hierarchy = { write: ['read'] };
  expect(proved(policy, 'for_all: { scope: write }, when: {}, then: allow', hierarchy)).toBe('holds');
  const refuted = proved(policy, 'for_all: { scope: write }, when: {}, then: deny', hierarchy);
  expect(refuted).toEqual([{ scope: 'write' }, {}, 'allow']);
});

test('a policy in shadow mode is decided as if it were enforced', () => {
  const shadow: PolicyDocument = { ...bank, mode: 'shadow' };
  expect(proved(shadow, `${notTraders}, when: { tool: transfer_funds }, then: deny`)).toBe('holds');
});

test('`not` describes values of every other type as well', () => {
  const policy: PolicyDocument = { claims: { agent: { not: true } } };
  const property = 'for_all: { not: { claims: { agent: true } } }, when: {}, then: allow';
  expect(proved(policy, property)).toEqual([{ claims: { agent: 'x' } }, {}, 'claim.denied']);
});

describe('R-230: a pattern that no automaton decides', () => {
  const policy: PolicyDocument = { scope: 'read', claims: { d: { matches: 'a(?=b)' } } };
  test('is named where the property depends on it', () => {
    const why = ['claims.d: "a(?=b)": the look-around (?=b)'];
    expect(proved(policy, 'for_all: {}, when: {}, then: deny')).toEqual(why);
  });
  test('does not matter where something else decides', () => {
    expect(proved(policy, 'for_all: { not: { scope: read } }, when: {}, then: deny')).toBe('holds');
    expect(proved(policy, 'for_all: {}, when: {}, then: allow')).toEqual([{}, {}, 'claim.denied']);
  });
});

test('twelve blocks of twelve alternatives over different claims are decided', () => {
  const blocks = Array.from({ length: 12 }, (_, block) => ({
    any: Array.from({ length: 12 }, (_, index) => ({ claims: { [`c${block}_${index}`]: 'v' } })),
  }));
  const [given] = proved({ all: blocks }, 'for_all: {}, when: {}, then: deny') as readonly [
    { readonly claims: object },
  ];
  expect(Object.keys(given.claims)).toHaveLength(12);
  const policy: PolicyDocument = { all: [...blocks, { any: [{ claims: { c0_0: 'w' } }] }] };
  expect(proved(policy, 'for_all: { not: { claims: { c0_0: w } } }, when: {}, then: deny')).toBe('holds');
});
