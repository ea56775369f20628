import { expect, test } from 'vitest';
import type { Config } from '../../../src/ports/config.ts';
import type { DecisionRecord } from '../../../src/core/model/decision.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { testOf } from '../../../src/capabilities/console/detail.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import { differenceOf } from '../../../src/analysis/review/replay.ts';
import { refusals } from '../../../src/capabilities/all.ts';
import { explainRecord } from '../../../src/analysis/review/explained.ts';
import { recordedDecision } from '../../../src/analysis/review/recorded-decision.ts';

const policy = compilePolicy('orders', { scope: 'read', requests: { 'GET /orders/*': {}, 'POST /orders': {} } });
const stricter = compilePolicy('orders', { scope: 'read', requests: { 'GET /orders/*': { scope: 'more' } } });
const route = { name: 'orders', protocol: 'http', policy } as Route;
const config = { routes: [route], scopeHierarchy: new Map() } as unknown as Config;

function recorded(more: object): DecisionRecord {
  const line = {
    msg: 'decision',
    decision: 'd',
    allow: true,
    route: 'orders',
    issuer: 'https://as.example',
    subject: 'alice',
    scope: 'read',
    policy: 'orders',
  };
  const record = recordedDecision({ ...line, method: 'GET', ...more });
  if (record === undefined) throw new TypeError('no record');
  return record;
}
const long = `/orders/${'x'.repeat(300)}`.slice(0, 256);
const changeOf = (more: object) => {
  const found = differenceOf(recorded(more), route, stricter, config);
  return found && `${found.change}: ${found.called}: ${found.after}`;
};

test('R-315: a recorded request is decided again by its method and path', () => {
  expect(changeOf({ path: '/orders/1' })).toBe('would be denied: GET /orders/1: deny scope.insufficient (read more)');
  expect(changeOf({ method: 'POST', path: '/orders' })).toBe('would be denied: POST /orders: deny request.unlisted');
  expect(differenceOf(recorded({ path: '/orders/1' }), route, policy, config)).toBeUndefined();
  expect(explainRecord(config, recorded({ path: '/orders/1' })).conditions.map(({ rule }) => rule)).toEqual([
    'scope',
    'requests["GET /orders/*"]',
  ]);
  expect(testOf(recorded({ path: '/orders/1' }), false, true)).toContain(
    '  when: { request: "GET /orders/1" }\n  then: allow',
  );
});

test.each([
  ['left out', {}],
  ['cut', { path: long }],
])('R-315: a path that is %s leaves the decision unknown', (_, more) => {
  expect(changeOf(more)).toMatch(/^unknown: .*: depends on the path, which is not in the log, or cut$/);
  const { notes, conditions } = explainRecord(config, recorded(more));
  expect(notes).toEqual(['the path is not in the log, or cut: the conditions are unknown']);
  expect(conditions).toEqual([]);
  expect(testOf(recorded(more), false, true)).toBeUndefined();
});

test('a policy without requests needs no path', () => {
  const plain = { ...route, policy: compilePolicy('plain', { scope: 'read' }) };
  expect(differenceOf(recorded({}), plain, compilePolicy('plain', { scope: 'more' }), config)?.change).toBe(
    'would be denied',
  );
});

test('a line with a path or claims of another type is not read', () => {
  for (const more of [{ path: 1 }, { address: {} }, { claims: 'x' }]) {
    expect(recordedDecision({ msg: 'decision', decision: 'd', allow: true, ...more })).toBeUndefined();
  }
});

test('a refusal by the authorization server of the upstream is not explained by the policy', () => {
  const detail = 'the exchange was refused with 400 interaction_required';
  const refused = { path: '/orders/1', allow: false, reason: 'authentication.insufficient', detail };
  const { decidedBy, notes, conditions } = explainRecord(config, recorded(refused), refusals);
  expect([decidedBy, conditions]).toEqual(['not refused by a policy', []]);
  expect(notes).toEqual(['the client got 401; docs/reasons.md explains authentication.insufficient and its remedy']);
  const byPolicy = recorded({ ...refused, rule: 'max_age' });
  expect(explainRecord(config, byPolicy).decidedBy).toBe('policy orders');
});
