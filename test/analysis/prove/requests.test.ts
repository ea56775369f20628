// oxlint-disable unicorn/no-thenable -- `then` is a key of properties.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import type { PropertyDocument } from '../../../src/policy-files/property.ts';
import { prove } from '../../../src/analysis/prove/prove.ts';
import { property } from '../../support/property.ts';
import { faultsOf } from '../../core/policy/caller.ts';
import { compiled, deciding, policyOf, proofOf } from './deciding.ts';

const orders: PolicyDocument = {
  scope: 'orders.read',
  requests: {
    'GET /orders/**': {},
    'POST /orders': { scope: 'orders.write' },
    'DELETE /orders/*': { claims: { role: 'admin' } },
    '* /orders/*/lock': { scope: 'orders.lock' },
  },
};

const notAdmins: PropertyDocument['for_all'] = { not: { claims: { role: 'admin' } } };

describe('requests that a regular expression describes', () => {
  test('the entries of the documentation', () => {
    const when = { request: { matches: '^DELETE ' } };
    const proof = proofOf(orders, { for_all: notAdmins, when, then: 'deny' });
    // `*` of the last entry includes DELETE.
    expect(proof).toMatchObject({ outcome: 'fails', counterexample: { when: { request: 'DELETE /orders/x/lock' } } });
    const others = { ...orders.requests, '* /orders/*/lock': { scope: 'orders.lock', claims: { role: 'admin' } } };
    expect(proofOf({ ...orders, requests: others }, { for_all: notAdmins, when, then: 'deny' })).toMatchObject({
      outcome: 'holds',
    });
  });

  const names = 'users orders items carts bills mails files notes rooms teams'.split(' ');
  const thirty: PolicyDocument = {
    requests: Object.fromEntries(
      names.flatMap((name) => [
        [`GET /${name}/**`, {}],
        [`POST /${name}/{id}/lines/*`, { scope: 'write' }],
        [`DELETE /${name}/*`, { claims: { role: 'admin' } }],
      ]),
    ),
  };

  test.each<[string, string, PropertyDocument['then'], string]>([
    ['^DELETE ', 'admin', 'deny', 'holds'],
    ['^(GET|HEAD) ', 'none', 'allow', 'fails'],
    ['^GET /[a-z]+/[0-9]{1,9}$', 'none', 'allow', 'fails'],
    ['^GET /(users|orders)/[0-9]{1,9}$', 'none', 'allow', 'holds'],
    ['/lines/', 'none', 'deny', 'fails'],
    ['^POST .*/lines/[a-f]+$', 'none', { deny: ['scope.insufficient', 'request.unlisted'] }, 'fails'],
    ['^(PUT|PATCH|POST /[^/]+$)', 'none', { deny: 'request.unlisted' }, 'holds'],
    ['secret', 'none', 'deny', 'fails'],
  ])('of thirty entries, %s for callers without %s: %j %s', (matches, role, then, outcome) => {
    const for_all = role === 'none' ? {} : { not: { claims: { role } } };
    const document = compiled({ for_all, when: { request: { matches } }, then });
    expect(prove(document, policyOf(thirty), deciding())).toMatchObject({ outcome });
  });

  test('a request that a server may read as one of another entry is looked at too', () => {
    const document: PolicyDocument = { requests: { 'GET /*': {}, 'GET /export': { scope: 'export' } } };
    const matches = String.raw`export\.`;
    expect(proofOf(document, { for_all: {}, when: { request: { matches } }, then: 'allow' }).outcome).toBe('fails');
    expect(proofOf(document, { for_all: {}, when: { request: { matches } }, then: 'deny' }).outcome).toBe('fails');
  });

  test('a name that no known spelling has stays undecided', () => {
    const document: PolicyDocument = { requests: { 'GET /*': {} } };
    const when = { request: { matches: '%C3%A9' } };
    expect(proofOf(document, { for_all: {}, when, then: 'deny' }).outcome).not.toBe('holds');
  });
});

const segments = ['a', 'b', 'ab', 'x', 'a1'];
const paths = [
  '/',
  ...segments.map((one) => `/${one}`),
  ...segments.flatMap((one) => segments.map((two) => `/${one}/${two}`)),
  ...segments.flatMap((one) => segments.flatMap((two) => segments.map((three) => `/${one}/${two}/${three}`))),
];
const every = ['GET', 'DELETE', 'PUT'].flatMap((method) => paths.map((path) => `${method} ${path}`));

const part = fc.constantFrom('a', 'b', 'ab', '*', '{v}');
const key = fc
  .tuple(fc.constantFrom('GET', 'DELETE', '*'), fc.array(part, { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([method, parts, hasRest]) => {
    const once = parts.map((each, at) => (each === '{v}' && parts.indexOf(each) < at ? '*' : each));
    return `${method} /${once.join('/')}${hasRest ? '/**' : ''}`;
  });
const expression = fc.constantFrom(
  '^GET ',
  '^DELETE /a',
  '/b$',
  '/a/[a-z]+$',
  '^[A-Z]+ /[^/]+$',
  'ab',
  '[0-9]',
  '^PUT /(a|b)/',
  '^GET /(a1?|ab)(/|$)',
);

property(
  'what is proved holds for every request of a small world',
  [
    fc.uniqueArray(key, { minLength: 1, maxLength: 5 }),
    fc.uniqueArray(expression, { minLength: 1, maxLength: 2 }),
    fc.boolean(),
  ],
  (keys, [matches = '', excluded], isAllowed) => {
    const requests = Object.fromEntries(keys.map((each, at) => [each, at % 2 === 0 ? {} : { claims: { role: 'r' } }]));
    if (faultsOf({ requests }).length > 0) return;
    const policy = policyOf({ requests });
    const request = { matches, ...(excluded !== undefined && { not: { matches: excluded } }) };
    const then = isAllowed ? 'allow' : 'deny';
    const proof = prove(compiled({ for_all: {}, when: { request }, then }), policy, deciding());
    const callers = [{}, { claims: { role: 'r' } }].map((given) => deciding().callerOf(given));
    const described = every.filter(
      (each) =>
        new RegExp(matches, 'u').test(each) && !(excluded !== undefined && new RegExp(excluded, 'u').test(each)),
    );
    const isViolated = described.some((each) =>
      callers.some((caller) => policy.decide(caller, { kind: 'http', request: each }).allow !== isAllowed),
    );
    expect(proof.outcome).not.toBe('undecided');
    if (isViolated) expect(proof.outcome).toBe('fails');
  },
);
