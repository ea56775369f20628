import { describe, expect, test } from 'vitest';
import { callerOf } from '../../../src/analysis/review/described-caller.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import type { PolicyTest } from '../../../src/policy-files/policy-tests.ts';
import { comparePolicies } from '../../../src/analysis/compare/compare.ts';
import { withGatewayClaims } from '../../../src/core/model/gateway-claims.ts';
import { caller } from './caller.ts';
import { deciding, policyOf } from '../../analysis/prove/deciding.ts';
import { outcome } from '../../commands/run.ts';
import { inFolder } from '../../serve/config/folder.ts';

const decided = (document: PolicyDocument, given: PolicyTest['given']) => {
  const decision = compilePolicy('p', document).decide(callerOf(given, new Map(), 'https://as.example'), {
    kind: 'http',
  });
  if (decision.allow) return 'allow';
  const { reason, scope, authentication } = decision.denial;
  return { reason, ...(scope.length > 0 && { scope }), ...authentication };
};
const insufficient = (needed: object) => ({ reason: 'authentication.insufficient', ...needed });
const policy: PolicyDocument = { scope: 'pay', acr: ['mfa', 'phr'], max_age: '5m' };
const needed = { acrValues: ['mfa', 'phr'], maxAge: 300 };
const signIn = insufficient(needed);
const scope = (name: string) => ({ reason: 'scope.insufficient', scope: [name] });

describe('acr and max_age', () => {
  test.each<[string, PolicyDocument, PolicyTest['given'], unknown]>([
    ['both hold', policy, { scope: 'pay', authenticated: '5m', claims: { acr: 'phr' } }, 'allow'],
    ['a sign-in that is too old', policy, { scope: 'pay', authenticated: '301s', claims: { acr: 'phr' } }, signIn],
    ['no time of the sign-in', policy, { scope: 'pay', claims: { acr: 'phr' } }, signIn],
    ['another kind of sign-in', policy, { scope: 'pay', authenticated: '1s', claims: { acr: 'pwd' } }, signIn],
    ['no acr', policy, { scope: 'pay', authenticated: '1s' }, signIn],
    ['a list as acr', policy, { scope: 'pay', authenticated: '1s', claims: { acr: ['phr'] } }, signIn],
    ['a scope is missing too', policy, { authenticated: '1s' }, insufficient({ scope: ['pay'], ...needed })],
    ['only a scope is missing', policy, { authenticated: '1s', claims: { acr: 'mfa' } }, scope('pay')],
    [
      'a claim that no token mends comes first',
      { ...policy, claims: { role: 'trader' } },
      {},
      { reason: 'claim.denied' },
    ],
    ['the lifetime comes after it', { ...policy, max_lifetime: '1m' }, { scope: 'pay', lifetime: '2m' }, signIn],
    [
      'any: the first that a sign-in mends',
      { any: [{ claims: { a: 1 } }, { max_age: '1m' }, { acr: 'phr' }] },
      {},
      insufficient({ maxAge: 60 }),
    ],
    ['any: a scope is easier', { any: [{ max_age: '1m' }, { scope: 'admin' }] }, {}, scope('admin')],
    ['any: one alternative holds', { any: [{ max_age: '1m' }, { acr: 'phr' }] }, { claims: { acr: 'phr' } }, 'allow'],
    [
      'not: a recent sign-in is refused',
      { not: { max_age: '1m' } },
      { authenticated: '30s' },
      { reason: 'exclusion.matched' },
    ],
    ['not: an older one passes', { not: { max_age: '1m' } }, { authenticated: '61s' }, 'allow'],
    [
      'two lists: what both accept',
      { acr: ['a', 'b'], all: [{ acr: ['b', 'c'] }, { max_age: '1h' }, { max_age: '1m' }] },
      {},
      insufficient({ acrValues: ['b'], maxAge: 60 }),
    ],
    [
      'two lists without a common one: the first',
      { acr: 'a', all: [{ acr: 'b' }] },
      {},
      insufficient({ acrValues: ['a'] }),
    ],
    [
      'one of two scopes is missing too',
      { scope: 'read pay', acr: 'a' },
      { scope: 'read' },
      insufficient({ scope: ['read', 'pay'], acrValues: ['a'] }),
    ],
  ])('%s', (_, document, given, expected) => {
    expect(decided(document, given)).toEqual(expected);
  });

  test('hide nothing from lists', () => {
    const listing = compilePolicy('p', { tools: { pay: { max_age: '1m' } } });
    const caller = callerOf({}, new Map(), 'https://as.example');
    expect(listing.couldCall(caller, { kind: 'tool', name: 'pay' })).toBe(true);
  });
});

test.each([
  [{ auth_time: 1000 }, 200],
  [{ auth_time: 1199.5 }, 1],
  [{ auth_time: 1230 }, 0],
  [{ auth_time: 1261 }, undefined],
  [{ auth_time: 1000_000 }, undefined],
  [{ auth_time: '1000' }, undefined],
  [{ authenticated_ago: 1 }, undefined],
])('the claims %j say at 1200 s that the sign-in was %j s ago', (claims, ago) => {
  expect(withGatewayClaims(caller({ claims }), () => 1_200_000).claims['authenticated_ago']).toBe(ago);
});

test.each(['authenticated_ago', '/authenticated_ago', '/authenticated_ago/x'])(
  'a condition on the claim %s makes the gateway add it, and reads auth_time',
  (name) => {
    const policy = compilePolicy('p', { claims: { [name]: { below: 60 } } });
    expect(policy.readsGatewayClaims).toBe(true);
    expect(policy.claimsRead({ auth_time: 1000, authenticated_ago: { x: 1 } })).toEqual({ auth_time: 1000 });
  },
);

describe('R-248: compare', () => {
  const kinds = (before: PolicyDocument, after: PolicyDocument): readonly string[] => {
    const { differences, undecided } = comparePolicies(policyOf(before), policyOf(after), deciding());
    expect(undecided).toEqual([]);
    return differences.map(({ kind, was, now }) => `${kind}: ${was} → ${now}`);
  };
  const refused = 'authentication.insufficient';

  test.each<[string, PolicyDocument, PolicyDocument, readonly string[]]>([
    ['another way to sign in', { acr: 'mfa' }, { acr: ['mfa', 'phr'] }, [`newly allowed: ${refused} → allow`]],
    ['a shorter age', { max_age: '5m' }, { max_age: '1m' }, [`newly refused: allow → ${refused}`]],
    ['another unit', { max_age: '5m' }, { max_age: '300s' }, []],
    ['another order', { acr: ['mfa', 'phr'] }, { acr: ['phr', 'mfa'] }, []],
    [
      'a sign-in in place of a scope',
      { scope: 'pay' },
      { acr: 'mfa' },
      [
        'newly allowed: scope.insufficient → allow',
        `newly refused: allow → ${refused}`,
        `refused for another reason: scope.insufficient → ${refused}`,
      ],
    ],
    [
      'a scope that the challenge for a sign-in names too',
      { scope: 'read', acr: 'mfa' },
      { scope: 'read pay', acr: 'mfa' },
      ['newly refused: allow → scope.insufficient', 'asked for other scopes: read → read pay'],
    ],
    [
      'a scope that only the challenge for a sign-in names',
      { acr: 'mfa' },
      { acr: 'mfa', any: [{ scope: 'pay' }, { acr: 'mfa' }] },
      ['asked for other scopes:  → pay'],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(kinds(before, after)).toEqual(expected);
  });
});

describe('sallyport explain', () => {
  const yaml = `public_url: http://gateway.test
authorization_servers: { main: { issuer: https://as.example, jwt: { algorithms: [RS256] } } }
routes: [{ name: api, path: /api, audience: a, policy: pay, upstream: { url: 'http://127.0.0.1:1' } }]
`;
  test.each([
    [10, 'allow'],
    [400, 'deny authentication.insufficient'],
  ])('judges a sign-in of %d seconds ago as the gateway does', async (seconds, expected) => {
    const claims = JSON.stringify({ auth_time: Math.floor(Date.now() / 1000) - seconds });
    await inFolder({ yaml, files: { 'policies/pay.yaml': 'max_age: 5m' } }, async (folder) => {
      expect((await outcome(['explain', '--claims', claims], folder)).stdout).toContain(expected);
    });
  });
});
