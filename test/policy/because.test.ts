import { describe, expect, test } from 'vitest';
import { compilePolicy } from '../../src/policy/compile.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { type Given, call, caller, decide, message, plain } from './caller.ts';

const own = 'The words of the policy.';

const policy: PolicyDocument = {
  scope: 'read',
  claims: { blocked: { not: true } },
  because: own,
  tools: {
    'get_*': {},
    pay: {
      scope: 'payments',
      claims: { role: 'trader' },
      arguments: { '/amount': { at_most: 1000 }, '/note': { matches: '^x' } },
      max_lifetime: '60s',
      because: 'For more than 1000 use request_transfer.',
    },
    ops: { claims: { role: 'ops' } },
  },
  resources: { 'a:b': { claims: { role: 'ops' }, because: 'Only ops read this.' } },
  prompts: { plan: { claims: { role: 'ops' }, because: 'Only ops plan.' } },
  methods: {
    'prompts/get': { claims: { region: 'EU' }, because: 'Prompts are for the EU.' },
    'x/y': { claims: { role: 'ops' } },
  },
};

const trader: Given = { scope: 'read payments', claims: { role: 'trader', region: 'EU' }, lifetime: 60 };
const ops: Given = { ...trader, claims: { role: 'ops' } };

/** The reason of a denial, and the words that the client gets. */
function words(given: Given, attempt: Parameters<typeof decide>[2], document = policy): readonly unknown[] {
  const decision = decide(document, given, attempt);
  return decision.allow ? ['allow'] : [decision.denial.reason, decision.denial.because];
}

describe('a final refusal has the words of the entry that refuses, or else those of the policy', () => {
  test.each<[string, Given, Parameters<typeof decide>[2], string, string]>([
    ['a claim of the policy', { claims: { blocked: true } }, call('pay'), 'claim.denied', own],
    ['a claim of an entry', ops, call('pay'), 'claim.denied', 'For more than 1000 use request_transfer.'],
    [
      'an argument',
      trader,
      call('pay', { amount: 1001 }),
      'argument.denied',
      'For more than 1000 use request_transfer.',
    ],
    ['an entry without words', trader, call('ops'), 'claim.denied', own],
    ['an unlisted tool', trader, call('drop'), 'tool.unlisted', own],
    ['an unlisted method', trader, message('x/z'), 'method.unlisted', own],
    ['a resource', trader, message('resources/read', 'resource a:b'), 'claim.denied', 'Only ops read this.'],
    ['an unlisted resource', trader, message('resources/read', 'resource a:c'), 'resource.unlisted', own],
    ['a prompt', trader, message('prompts/get', 'prompt plan'), 'claim.denied', 'Only ops plan.'],
    ['the method of a prompt', ops, message('prompts/get', 'prompt plan'), 'claim.denied', 'Prompts are for the EU.'],
    ['a method without words', trader, message('x/y'), 'claim.denied', own],
    ['an error', trader, call('pay', { amount: 1, note: 'x'.repeat(5000) }), 'policy.error', own],
  ])('%s', (_what, given, attempt, reason, because) => {
    expect(words(given, attempt)).toEqual([reason, because]);
  });

  test.each<[string, PolicyDocument]>([
    ['alternatives.exhausted', { because: own, any: [{ claims: { a: 1 } }] }],
    ['exclusion.matched', { because: own, not: { claims: { role: 'trader' } } }],
  ])('%s', (reason, document) => {
    expect(words(trader, { kind: 'http' }, document)).toEqual([reason, own]);
  });

  test('the words of a policy follow the entries of its lists, not the first entry', () => {
    const twoTargets = message('subscriptions/listen', 'resource a:b', 'resource c:d');
    const document: PolicyDocument = {
      resources: { 'a:b': { because: 'first' }, 'c:d': { claims: { role: 'ops' }, because: 'second' } },
    };
    expect(words(trader, twoTargets, document)).toEqual(['claim.denied', 'second']);
  });
});

describe('a refusal that a new token can mend has none', () => {
  test.each<[string, Given, string]>([
    ['a scope', { ...trader, scope: 'read' }, 'scope.insufficient'],
    ['a scope of the policy', { ...trader, scope: '' }, 'scope.insufficient'],
    ['a lifetime', { ...trader, lifetime: 900 }, 'lifetime.exceeded'],
  ])('%s', (_what, given, reason) => {
    const decision = decide(policy, given, call('pay', { amount: 1, note: 'x' }));
    expect(decision).toMatchObject({ allow: false, denial: { reason } });
    expect(decision).not.toHaveProperty('denial.because');
  });
});

test('a policy without words adds no member to its denials', () => {
  const decision = decide({ tools: { a: { claims: { b: 1 } } } }, {}, call('a'));
  expect(decision).toMatchObject({ allow: false, denial: { reason: 'claim.denied' } });
  expect(decision).not.toHaveProperty('denial.because');
});

test('an allowed call has none, nor does the list of rules', () => {
  const compiled = compilePolicy('p', policy);
  expect(plain(compiled.decide(caller(trader), call('get_x')))).toEqual({ allow: true, rule: 'tools.get_*' });
  expect(compiled.rules.filter((rule) => rule.includes('because'))).toEqual([]);
});
