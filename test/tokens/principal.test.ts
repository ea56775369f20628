import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { audienceOf, confirmationOf, principalOf, withHierarchy } from '../../src/tokens/principal.ts';
import type { AuthorizationServer } from '../../src/core/model/authorization-server.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { Claims, Principal, TokenForm } from '../../src/core/model/principal.ts';

const server = { name: 'main', issuer: 'https://as.example' } as AuthorizationServer;
const hierarchy = new Map([['write', ['read']]]);
const of = (claims: Claims): Principal => principalOf(claims, { form: 'jwt', isTyped: true, server, hierarchy });
const refused = (reason: string): Error => expect.objectContaining({ reason }) as Error;

describe('RFC 9068 §2.2 — the principal of claims', () => {
  test('has the values of the claims', () => {
    const claims = { iss: 'x', sub: 'alice', client_id: 'app', aud: 'r', exp: 9, iat: 8.5, scope: 'read', risk: 7 };
    expect(of(claims)).toEqual({
      issuer: 'https://as.example',
      subject: 'alice',
      clientId: 'app',
      callerKey: '18:https://as.example7:subject5:alice',
      grantedScopes: ['read'],
      scopes: new Set(['read']),
      audience: ['r'],
      expiresAt: 9,
      issuedAt: 8.5,
      form: 'jwt',
      claims,
    });
  });

  test('has no subject, client or scopes without claims', () => {
    expect(of({})).toEqual({
      issuer: 'https://as.example',
      grantedScopes: [],
      scopes: new Set(),
      audience: [],
      form: 'jwt',
      claims: { iss: 'https://as.example' },
    });
  });

  test('has the issuer of its server among its claims if the answer omits iss', () => {
    expect(of({ sub: 'alice', ['__proto__']: 'x' }).claims).toEqual({
      sub: 'alice',
      ['__proto__']: 'x',
      iss: 'https://as.example',
    });
  });
});

describe('RFC 8693 §4.1 — act', () => {
  test('names the actors, with the issuer of the token where they have none', () => {
    expect(of({ sub: 'alice', act: { sub: 'agent' } }).actors).toEqual([
      { issuer: 'https://as.example', subject: 'agent' },
    ]);
  });

  test.for([null, 'agent', {}, { sub: 'a', act: null }])('%j refuses the token', (act) => {
    expect(() => of({ sub: 'alice', act })).toThrow(refused('token.claims'));
  });
});

test.each<[string, Claims, string | undefined]>([
  ['as the standard has it', { client_id: 'a', azp: 'b', appid: 'c', cid: 'd' }, 'a'],
  ['azp', { azp: 'b', appid: 'c', cid: 'd' }, 'b'],
  ['appid, as Entra ID 1.0', { appid: 'c', cid: 'd' }, 'c'],
  ['cid, as Okta', { cid: 'd' }, 'd'],
  ['cid where appid means something else', { appid: 5, cid: 'd' }, 'd'],
  ['none where both do', { appid: 5, cid: ['d'] }, undefined],
  ['cid where appid is empty', { appid: '', cid: 'd' }, 'd'],
])('the client: %s', (_title, claims, expected) => {
  expect(of(claims).clientId).toBe(expected);
});

describe('which scopes', () => {
  test.each<readonly [string, Claims, readonly string[]]>([
    ['RFC 9068 §2.2.3: scope, by spaces', { scope: 'read pay' }, ['read', 'pay']],
    ['however many spaces', { scope: '  read   pay ' }, ['read', 'pay']],
    ['none of no characters', { scope: '' }, []],
    ['a list', { scope: ['read', 'pay'] }, ['read', 'pay']],
    ['scp, by spaces', { scp: 'read pay' }, ['read', 'pay']],
    ['scp, a list', { scp: ['read', 'pay'] }, ['read', 'pay']],
    ['scope, and not scp beside it', { scope: '', scp: ['admin'] }, []],
    ['with what they imply', { scope: 'write' }, ['write', 'read']],
    ['in its own case', { scope: 'READ' }, ['READ']],
    ...['read,pay', 'read\tpay', 'read\u00A0', '*'].map(
      (scope) => [JSON.stringify(scope), { scope }, [scope]] as const,
    ),
  ])('%s', (_title, claims, expected) => {
    expect(of(claims).scopes).toEqual(new Set(expected));
  });

  test('of the newest hierarchy, and not of the one before', () => {
    const principal = of({ scope: 'write' });
    const later = withHierarchy(principal, new Map([['write', ['delete']]]));
    expect(later).toEqual({ ...principal, scopes: new Set(['write', 'delete']) });
  });
});

test.each<[Claims, readonly string[]]>([
  [{ aud: 'r' }, ['r']],
  [{ aud: ['r', 's'] }, ['r', 's']],
  [{ aud: [] }, []],
])('RFC 7519 §4.1.3 — %j', (claims, expected) => {
  expect(of(claims).audience).toEqual(expected);
});

const named: AuthorizationServer = { ...server, audienceClaim: 'client_id' };
test.each<[what: string, Claims, isTyped: boolean, of: Pick<AuthorizationServer, 'audienceClaim'>, readonly string[]]>([
  ['no claim is named', { client_id: 'a' }, true, server, []],
  ['a typed token', { client_id: 'a' }, true, named, ['a']],
  ['no sign of an access token', { client_id: 'a' }, false, named, []],
  ['another use', { client_id: 'a', token_use: 'id' }, false, named, []],
  ['its use', { client_id: 'a', token_use: 'access' }, false, named, ['a']],
  ['its scope', { client_id: 'a', scope: '' }, false, named, ['a']],
  ['a scope of null', { client_id: 'a', scope: null }, false, named, []],
  ['its scp', { client_id: 'a', scp: '' }, false, named, ['a']],
  ['an scp of null', { client_id: 'a', scp: null }, false, named, []],
  ['an empty claim', { client_id: '' }, true, named, []],
  ['a list', { client_id: ['a'] }, true, named, []],
  ['another claim', { azp: 'a' }, true, named, []],
  ['an aud beside it', { client_id: 'a', aud: [] }, true, named, []],
])('R-290: the claim that stands for an absent aud: %s', (_what, claims, isTyped, of, audience) => {
  expect(audienceOf(claims, isTyped, of)).toEqual(audience);
});

test.each<[TokenForm, isTyped: boolean, readonly string[]]>([
  ['jwt', true, ['a']],
  ['jwt', false, []],
  ['opaque', true, []],
])('R-290: only the type of a JWT shows that it is an access token: %s, %s', (form, isTyped, audience) => {
  expect(principalOf({ client_id: 'a' }, { form, isTyped, server: named, hierarchy }).audience).toEqual(audience);
});

describe('refuses a member of the wrong type', () => {
  const values = [5, true, {}, { x: true }, { 0: 'x', length: 1 }, ['x', 1], ['x', null], [['x']]];
  test.for([null, ...values])('aud: %j', (aud) => {
    expect(() => of({ aud })).toThrow(refused('token.audience'));
  });
  test.for(values)('scope and scp: %j', (value) => {
    expect(() => of({ scope: value })).toThrow(refused('token.claims'));
    expect(() => of({ scope: value, scp: 'read' })).toThrow(refused('token.claims'));
    expect(() => of({ scp: value })).toThrow(refused('token.claims'));
  });
  test.for([...values, ['x'], [], '', 0, false])('sub, client_id and azp, also of an opaque token: %j', (value) => {
    for (const name of ['sub', 'client_id', 'azp']) {
      expect(() => of({ [name]: value })).toThrow(refused('token.claims'));
      expect(() => principalOf({ [name]: value }, { form: 'opaque', isTyped: true, server, hierarchy })).toThrow(
        refused('token.claims'),
      );
    }
  });
  test.for(['5', true, {}, [5], Infinity, -Infinity, Number.NaN])('exp and iat: %j', (value) => {
    for (const name of ['exp', 'iat']) expect(() => of({ [name]: value })).toThrow(refused('token.claims'));
  });
});

test('null is absent for the caller, and policies read it as the token says it', () => {
  const nulls = { iss: null, sub: null, client_id: null, azp: null, scope: null, exp: null, iat: null, role: null };
  expect(of(nulls)).toEqual({ ...of({}), claims: { ...nulls, iss: 'https://as.example' } });
  expect(of({ scope: null, scp: 'read', client_id: null, azp: 'a' })).toMatchObject({
    grantedScopes: ['read'],
    clientId: 'a',
  });
});

test('refuses a token with claims of another kind, unless its typ is at+jwt', () => {
  expect(() => principalOf({ nonce: 'n' }, { form: 'jwt', isTyped: false, server, hierarchy })).toThrow(
    refused('token.type'),
  );
  expect(() => principalOf({ typ: 'ID' }, { form: 'jwt', isTyped: true, server, hierarchy })).toThrow(
    refused('token.type'),
  );
  expect(principalOf({ nonce: 'n' }, { form: 'opaque', isTyped: true, server, hierarchy }).form).toBe('opaque');
});

const one = '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I';
const other = 'bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2';

test.each([
  [undefined, undefined],
  [{ jkt: one }, { jwkThumbprint: one, certificateThumbprint: undefined }],
  [{ 'x5t#S256': other }, { jwkThumbprint: undefined, certificateThumbprint: other }],
  [
    { jkt: one, 'x5t#S256': other },
    { jwkThumbprint: one, certificateThumbprint: other },
  ],
])('%j', (cnf, expected) => {
  expect(confirmationOf(cnf)).toEqual(expected);
});

test.each([
  ['cnf is not an object', [{ jkt: one }]],
  ['cnf is empty', {}],
  ['cnf has a member besides jkt and x5t#S256', { jkt: one, kid: 'k' }],
  ['jkt of cnf is not a SHA-256', { jkt: 'x', 'x5t#S256': other }],
  ['x5t#S256 of cnf is not a SHA-256', { jkt: one, 'x5t#S256': 'x' }],
])('the operator learns which: %s', (why, cnf) => {
  expect(() => confirmationOf(cnf)).toThrow(why);
});

test.for([
  null,
  'x',
  { kid: 'k' },
  { jkt: one, jwk: { kty: 'oct' } },
  { 'x5t#s256': one },
  ...['', null, `${one}=`, `x${one}`, `${one} `, [one]].map((jkt) => ({ jkt })),
  { jkt: null, 'x5t#S256': one },
  { jkt: one, 'x5t#S256': 5 },
])('bound in a way that cannot be checked: %j', (cnf) => {
  expect(() => confirmationOf(cnf)).toThrow(expect.objectContaining({ reason: 'token.sender_constrained' }) as Error);
});

test('refuses any other cnf with a Denial', () => {
  const anything = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom('jkt', 'x5t#S256', 'kid'), fc.jsonValue()));
  fc.assert(
    fc.property(anything, (cnf) => {
      expect(() => confirmationOf(cnf)).toThrow(Denial);
    }),
  );
});
