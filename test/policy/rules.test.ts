import { expect, test } from 'vitest';
import { compilePolicy } from '../../src/policy/compile.ts';

test('every rule that a decision can name or rest on, in the order of the conditions', () => {
  const policy = compilePolicy('p', {
    scope: 'read',
    claims: { tenant: 'acme' },
    any: [{ scope: 'admin' }, { claims: { role: 'boss' } }],
    all: [{ max_lifetime: '1h' }],
    not: { claims: { banned: true } },
    tools: { 'get_*': {}, pay: { scope: 'payments', arguments: { '/amount': { below: 5 } } } },
    prompts: { hello: {} },
  });
  expect(policy.rules).toEqual([
    'scope',
    'claims.tenant',
    'any',
    'any[0].scope',
    'any[1].claims.role',
    'all[0].max_lifetime',
    'not',
    'tools.get_*',
    'tools.pay',
    'tools.pay.scope',
    'tools.pay.arguments./amount',
    'prompts.hello',
    'tools',
    'prompts',
  ]);
});

test('the claims that are read, wherever they are asked for, and no others', () => {
  const policy = compilePolicy('p', {
    scope: 'read',
    claims: { tenant: 'x', '/realm/roles': { contains: 'y' }, nonce: { present: false } },
    any: [{ claims: { team: 'ops' } }],
    not: { claims: { banned: true } },
    max_lifetime: '1h',
    tools: { t: { all: [{ claims: { risk: { below: 5 } } }] } },
  });
  const claims = {
    tenant: 'a',
    realm: { roles: ['y'], other: 1 },
    team: 'dev',
    banned: false,
    risk: 3,
    email: 'alice@example.com',
  };
  expect({ ...policy.claimsRead(claims) }).toStrictEqual({
    tenant: 'a',
    '/realm/roles': ['y'],
    team: 'dev',
    banned: false,
    risk: 3,
  });
});

test('a claim that its pointer cannot reach is told as null, one that is absent not at all', () => {
  const policy = compilePolicy('p', { claims: { '/realm/roles': { not: 'x' }, '/team/name': { not: 'x' } } });
  expect({ ...policy.claimsRead({ realm: '{"roles":"x"}' }) }).toStrictEqual({ '/realm/roles': null });
});
