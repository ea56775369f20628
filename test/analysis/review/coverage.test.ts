import { expect, test } from 'vitest';
import { gapsOf } from '../../../src/analysis/review/coverage.ts';
import type { Attempt } from '../../../src/core/model/policy.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { call, caller, type Given } from '../../core/policy/caller.ts';
import { explain } from '../../../src/analysis/review/explanation.ts';

type Case = readonly [given: Given, attempt?: Attempt];

function gaps(document: PolicyDocument, ...cases: readonly Case[]): readonly string[] {
  const policy = compilePolicy('p', document);
  const decided = cases.map(([given, attempt = { kind: 'http' }]) => {
    const principal = caller(given);
    const decision = policy.decide(principal, attempt);
    return { decision, conditions: explain(decision.plan, principal, attempt) };
  });
  return gapsOf(policy, decided).map(({ rule, missing }) => `${rule}: ${missing}`);
}

test('a condition is covered if one test passes it and another is denied by it', () => {
  const document = { scope: 'read', claims: { risk: { below: 50 } } };
  expect(gaps(document)).toEqual(['scope: no test passes it', 'claims.risk: no test passes it']);
  const fine: Case = [{ scope: 'read', claims: { risk: 1 } }];
  expect(gaps(document, fine)).toEqual(['scope: no test is denied by it', 'claims.risk: no test is denied by it']);
  const risky: Case = [{ scope: 'read', claims: { risk: 90 } }];
  expect(gaps(document, fine, risky)).toEqual(['scope: no test is denied by it']);
  expect(gaps(document, fine, risky, [{ claims: { risk: 1 } }])).toEqual([]);
});

test('a condition that fails beside the deciding one is not covered', () => {
  const document = { scope: 'read', claims: { role: 'admin' } };
  const both: Case = [{}];
  expect(gaps(document, [{ scope: 'read', claims: { role: 'admin' } }], both)).toEqual([
    'scope: no test is denied by it',
  ]);
});

test('each alternative needs a test that passes it, and one in which all fail', () => {
  const document = { any: [{ scope: 'admin' }, { claims: { role: 'x' } }] };
  expect(gaps(document, [{ scope: 'admin' }], [{}])).toEqual(['any[1].claims.role: no test passes it']);
  expect(gaps(document, [{ scope: 'admin' }], [{ claims: { role: 'x' } }], [{ claims: { role: 'y' } }])).toEqual([]);
});

test('a listing needs a call of each entry and a call of an unlisted name', () => {
  const document = { tools: { get: {}, pay: { arguments: { '/amount': { at_most: 10 } } } } };
  expect(gaps(document, [{}, call('get')])).toEqual([
    'tools.pay: no test passes it',
    'tools.pay.arguments./amount: no test passes it',
    'tools: no test calls what is not listed',
  ]);
  const all: readonly Case[] = [
    [{}, call('get')],
    [{}, call('pay', { amount: 1 })],
    [{}, call('pay', { amount: 11 })],
    [{}, call('other')],
  ];
  expect(gaps(document, ...all)).toEqual([]);
});

test('a denial in shadow mode counts as a denial', () => {
  expect(gaps({ mode: 'shadow', scope: 'read' }, [{ scope: 'read' }], [{}])).toEqual([]);
});
