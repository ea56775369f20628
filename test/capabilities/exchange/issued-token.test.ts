import { describe, expect, test } from 'vitest';
import { orReason } from '../../support/denial.ts';
import {
  keptUntil,
  readIssuedToken,
  requireIssuedType,
  tokenTypes,
} from '../../../src/capabilities/exchange/issued-token.ts';

const askedAt = 1_800_000_000_000;
const day = 24 * 3_600_000;
const answer = { access_token: 'abc', token_type: 'Bearer', expires_in: 100 };

function jwt(payload: unknown): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256' })}.${part(payload)}.c2ln`;
}

function lifetimeOf(members: Record<string, unknown>): number | undefined {
  const { expiresAt } = readIssuedToken({ ...answer, ...members }, askedAt);
  return expiresAt === undefined ? undefined : expiresAt - askedAt;
}

describe('a bearer token, RFC 6749 §5.1 and RFC 6750 §2.1', () => {
  test.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('accepts token_type %s', (type) => {
    expect(readIssuedToken({ ...answer, token_type: type }, askedAt).accessToken).toBe('abc');
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a string', 'abc'],
    ['a list', [answer]],
    ['no access_token', { ...answer, access_token: undefined }],
    ['an empty one', { ...answer, access_token: '' }],
    ['a number', { ...answer, access_token: 1 }],
    ['a space', { ...answer, access_token: 'a b' }],
    ['a line break', { ...answer, access_token: 'a\r\nx-admin: 1' }],
    ['one that is too long', { ...answer, access_token: 'a'.repeat(16 * 1024 + 1) }],
    ['no token_type', { ...answer, token_type: undefined }],
    ['N_A', { ...answer, token_type: 'N_A' }],
    ['DPoP', { ...answer, token_type: 'DPoP' }],
    ['a list of types', { ...answer, token_type: ['Bearer'] }],
    ['a list of scopes', { ...answer, scope: ['read'] }],
  ])('refuses %s', (_, body) => {
    expect(orReason(() => readIssuedToken(body, askedAt))).toBe('exchange.invalid');
  });

  test('no refusal quotes the answer', () => {
    expect(() => readIssuedToken({ ...answer, access_token: 'secret token' }, askedAt)).toThrow(/^(?!.*secret)/s);
  });
});

describe('the lifetime', () => {
  test.each<[unknown, number]>([
    [1, 1_000],
    [100, 100_000],
    [86_400, day],
    [86_401, day],
    [Number.MAX_SAFE_INTEGER, day],
    ['100', 100_000],
    ['0100', 100_000],
  ])('expires_in %j: %d ms', (seconds, expected) => {
    expect(lifetimeOf({ expires_in: seconds })).toBe(expected);
  });

  test.each<[string, unknown]>([
    ['an empty text', ''],
    ['a text of zero', '0'],
    ['a text with a sign', '+100'],
    ['a text with a space', ' 100'],
    ['a text with an exponent', '1e2'],
    ['a text in hexadecimal', '0x64'],
    ['a long text', '9'.repeat(400)],
    ['zero', 0],
    ['negative', -1],
    ['a fraction', 59.5],
    ['NaN', Number.NaN],
    ['1e999', JSON.parse('1e999')],
    ['more than JSON can hold exactly', JSON.parse('1e40')],
    ['a list', [100]],
  ])('expires_in that is %s is refused', (_, seconds) => {
    expect(orReason(() => lifetimeOf({ expires_in: seconds }))).toBe('exchange.invalid');
  });

  const inSeconds = (seconds: number): number => askedAt / 1000 + seconds;
  test.each<[string, Record<string, unknown>, number | undefined]>([
    ['no member says', {}, undefined],
    ['expires_in is null', { expires_in: null }, undefined],
    ['a JWT says it itself', { access_token: jwt({ exp: inSeconds(50) }) }, 50_000],
    ['a JWT says it with a fraction', { access_token: jwt({ exp: inSeconds(50.5) }) }, 50_500],
    ['a JWT ends earlier than expires_in', { access_token: jwt({ exp: inSeconds(50) }), expires_in: 100 }, 50_000],
    ['a JWT ends later than expires_in', { access_token: jwt({ exp: inSeconds(500) }), expires_in: 100 }, 100_000],
    ['a JWT for a hundred years', { access_token: jwt({ exp: inSeconds(3e9) }) }, day],
    ['a JWT that has ended', { access_token: jwt({ exp: inSeconds(-50) }) }, -50_000],
    ['a JWT without exp', { access_token: jwt({}) }, undefined],
    ['a JWT with another exp', { access_token: jwt({ exp: '5' }) }, undefined],
    ['dots, and no JWT', { access_token: 'a.b.c' }, undefined],
  ])('%s', (_, members, expected) => {
    expect(lifetimeOf({ expires_in: undefined, ...members })).toBe(expected);
  });

  test.each([
    [60, 54_000],
    [100, 90_000],
    [300, 270_000],
    [3600, 3_570_000],
  ])('%d s are used for %d ms', (seconds, expected) => {
    expect(keptUntil(readIssuedToken({ ...answer, expires_in: seconds }, askedAt), askedAt) - askedAt).toBe(expected);
  });

  test.each([
    ['without an expiry', { expires_in: undefined }],
    ['once expired', { access_token: jwt({ exp: inSeconds(-50) }) }],
  ])('a token is not reused %s', (_, members) => {
    expect(keptUntil(readIssuedToken({ ...answer, ...members }, askedAt), askedAt)).toBeLessThanOrEqual(askedAt);
  });
});

test.each([
  [undefined, undefined],
  // Without the member the scope is as requested: null must not grant it.
  [null, []],
  ['', []],
  ['read', ['read']],
  [' read  write ', ['read', 'write']],
])('scope %j', (scope, expected) => {
  expect(readIssuedToken({ ...answer, scope }, askedAt).scope).toEqual(expected);
});

describe('issued_token_type, RFC 8693 §2.2.1', () => {
  test.each([
    ['access_token', tokenTypes.access_token, undefined],
    ['access_token', tokenTypes.jwt, undefined],
    ['jwt', tokenTypes.jwt, undefined],
    ['access_token', undefined, 'exchange.invalid'],
    ['access_token', null, 'exchange.invalid'],
    ['access_token', 'access_token', 'exchange.invalid'],
    ['access_token', 'urn:ietf:params:oauth:token-type:refresh_token', 'exchange.invalid'],
    ['access_token', 'urn:ietf:params:oauth:token-type:id_token', 'exchange.invalid'],
    ['jwt', tokenTypes.access_token, 'exchange.invalid'],
  ] as const)('asked for %s, issued %s: %s', (asked, issued, refusal) => {
    expect(orReason(() => requireIssuedType({ issued_token_type: issued }, asked))).toBe(refusal);
  });
});
