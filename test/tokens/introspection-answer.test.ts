import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { principalOfAnswer } from '../../src/tokens/introspection-answer.ts';
import type { AuthorizationServer } from '../../src/core/model/authorization-server.ts';
import type { Principal } from '../../src/core/model/principal.ts';
import { runs } from '../support/runs.ts';
import { property } from '../support/property.ts';
import { orReason } from '../support/denial.ts';

const now = 1_800_000_000;
const server = {
  name: 'main',
  issuer: 'https://as.example',
  clockToleranceMs: 5_000,
  introspection: { audience: 'required' },
} as unknown as AuthorizationServer;

const refused = (reason: string): Error => expect.objectContaining({ reason }) as Error;
const jkt = '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I';

/** As {@link principalOfAnswer}, of an answer with `aud`, as of `now` and `ms` later. */
function principal(claims: Record<string, unknown>, ms = 0, of = server): Principal {
  return principalOfAnswer({ claims: { aud: 'r', ...claims } }, of, new Map(), () => now * 1000 + ms);
}

/** RFC 7662 §2.2. */
const optional = 'iss sub client_id username scope scp exp iat nbf jti token_type azp acr auth_time'.split(' ');

test.each<[claims: Record<string, unknown>, detail: string]>([
  [{ iss: 'https://x' }, 'iss of the introspection answer is "https://x"; accepted: "https://as.example"'],
  [{ exp: now - 65 }, 'exp is 65 s ago; clock_tolerance is 5 s'],
  [{ nbf: now + 65 }, 'nbf is 65 s ahead; clock_tolerance is 5 s'],
  [{ nbf: 'now' }, 'nbf is "now"; it must be a number'],
  [{ token_type: 'N_A' }, 'token_type is "N_A"; accepted: "bearer", "access_token", "dpop"'],
  [{ aud: undefined }, 'the introspection answer has no aud (see introspection.audience and audience_claim)'],
  [{ aud: { r: 1 } }, 'aud is an object of 1; it must be a string or a list of strings'],
])('a refused answer says what it has and what is accepted: %j', (claims, detail) => {
  expect(() => principal(claims)).toThrow(expect.objectContaining({ detail }) as Error);
});

describe('RFC 7662 §2.2 — the answer about an active token', () => {
  test.each<[string, Record<string, unknown>]>([
    ['no more than for whom it is', {}],
    ['the issuer that was asked', { iss: 'https://as.example' }],
    ['that it is of type Bearer', { token_type: 'Bearer' }],
    ['in small letters', { token_type: 'bearer' }],
    ['its kind', { token_type: 'access_token', token_use: 'access_token' }],
    ['its kind, as other servers call it', { token_use: 'access' }],
    ['RFC 9449 §6.2: that it is of type DPoP, and by which key', { token_type: 'DPoP', cnf: { jkt } }],
    ['a bearer token bound to a key', { token_type: 'Bearer', cnf: { jkt } }],
    // Only the header of a JWT may leave open what it is; an answer is about what was asked for.
    ['null for each member that it does not have', Object.fromEntries(optional.map((name) => [name, null]))],
    ['what ID tokens have too', { nonce: 'n', at_hash: 'h' }],
  ])('is accepted: %s', (_title, claims) => {
    expect(principal(claims)).toMatchObject({ issuer: 'https://as.example', audience: ['r'], form: 'opaque' });
  });

  type Refused = [reason: string, claims: Record<string, unknown>];
  test.each<Refused>([
    ...['https://other.example', 'https://as.example/', ['https://as.example']].map((iss): Refused => [
      'token.issuer',
      { iss },
    ]),
    ...['refresh_token', 'N_A', '', 5, ['Bearer']].map((type): Refused => ['token.type', { token_type: type }]),
    ...['refresh_token', 'id', null].map((use): Refused => ['token.type', { token_use: use }]),
    ['token.sender_constrained', { token_type: 'DPoP' }],
    ['token.sender_constrained', { token_type: 'dpop', cnf: { 'x5t#S256': jkt } }],
    ...['1800000060', true].flatMap((time): Refused[] => [
      ['token.claims', { exp: time }],
      ['token.claims', { nbf: time }],
    ]),
    ...[undefined, null].map((aud): Refused => ['token.audience', { aud }]),
    ...[null, { jkt: null }].map((cnf): Refused => ['token.sender_constrained', { cnf }]),
    ['token.sender_constrained', { token_type: 'DPoP', cnf: null }],
  ])('is refused: %s, %j', (reason, claims) => {
    expect(() => principal(claims)).toThrow(refused(reason));
  });

  test('is accepted up to exp plus the tolerance', () => {
    expect(principal({ exp: now }, 4_999).expiresAt).toBe(now);
    expect(() => principal({ exp: now }, 5_000)).toThrow(refused('token.expired'));
    expect(principal({ exp: now + 0.5 }, 5_499).expiresAt).toBe(now + 0.5);
  });

  test('is accepted from nbf minus the tolerance', () => {
    expect(principal({ nbf: now }, -5_000)).toBeDefined();
    expect(() => principal({ nbf: now }, -5_001)).toThrow(refused('token.not_yet_valid'));
    expect(principal({ nbf: now - 60 })).toBeDefined();
  });

  test('is accepted without aud only if the configuration allows it', () => {
    const optional = { ...server, introspection: { audience: 'optional' } } as AuthorizationServer;
    expect(principal({ aud: undefined }, 0, optional).audience).toEqual([]);
    expect(principal({ aud: [] }).audience).toEqual([]);
    const byClaim = { ...server, audienceClaim: 'cid' } as const;
    expect(principal({ aud: undefined, cid: 'r', scope: '' }, 0, byClaim).audience).toEqual(['r']);
    const unconfigured = { ...server, introspection: undefined };
    expect(() => principal({ aud: undefined }, 0, unconfigured)).toThrow(refused('token.audience'));
  });

  test('may name any issuer of its server', () => {
    const jwt = { algorithms: [], types: undefined, jwksUri: undefined, issuers: ['https://old.example'] };
    for (const iss of ['https://as.example', 'https://old.example'])
      expect(principal({ iss }, 0, { ...server, jwt }).issuer).toBe('https://as.example');
  });

  test('keeps its JWT for the upstream', () => {
    const read = principalOfAnswer({ claims: { aud: 'r' }, jwt: 'a.b.c' }, server, new Map(), () => 0);
    expect(read.introspectionJwt).toBe('a.b.c');
    expect(principal({}).introspectionJwt).toBeUndefined();
  });

  const part = (json: string): string => Buffer.from(json).toString('base64url');
  const account = '"account":9007199254740993';
  test.each<[where: string, answer: { text?: string; jwt?: string }]>([
    ['a plain answer', { text: `{${account}}` }],
    ['the statement of a signed one', { jwt: `a.${part(`{"iat":1,"token_introspection":{${account}}}`)}.c` }],
    ['a phantom token', { jwt: `a.${part(`{${account}}`)}.c` }],
  ])('keeps the digits of numbers that JavaScript would change: of %s', (_where, answer) => {
    const read = principalOfAnswer({ claims: { aud: 'r' }, ...answer }, server, new Map(), () => 0);
    expect(JSON.stringify(read.exactClaims)).toBe(`{${account},"iss":"https://as.example"}`);
  });

  test('has no exact claims where JavaScript changes none', () => {
    expect(principal({})).not.toHaveProperty('exactClaims');
    const jwt = `a.${part('{"token_introspection":{"account":5}}')}.c`;
    const read = principalOfAnswer({ claims: { aud: 'r' }, jwt }, server, new Map(), () => 0);
    expect(read).not.toHaveProperty('exactClaims');
  });
});

const anything = fc.jsonValue({ maxDepth: 2 });
const text = fc.oneof(fc.constantFrom('alice', 'Bearer', 'DPoP', 'https://as.example'), anything);
const time = fc.oneof(fc.integer({ min: now - 60, max: now + 60 }), anything);
const claims = fc.record(
  {
    iss: text,
    sub: text,
    client_id: text,
    aud: fc.oneof(fc.array(fc.string()), fc.string(), anything),
    scope: fc.oneof(fc.constant('read pay'), anything),
    exp: time,
    nbf: time,
    iat: time,
    token_type: text,
    token_use: text,
    cnf: fc.oneof(fc.record({ jkt: fc.stringMatching(/^[\w-]{43}$/) }), anything),
  },
  { requiredKeys: [] },
);

/** The principal, or the reason of the Denial. */
function read(answer: Record<string, unknown>): Principal | string {
  return orReason(() => principalOfAnswer({ claims: answer }, server, new Map(), () => now * 1000));
}

property(
  'RFC 7662 §2.2 — any answer gives a principal whose token is valid now, or a Denial',
  [claims],
  (answer) => {
    const found = read(answer);
    const isSound =
      typeof found === 'string'
        ? found.startsWith('token.')
        : found.issuer === server.issuer &&
          ['string', 'undefined'].includes(typeof found.subject) &&
          found.audience.every((each) => typeof each === 'string') &&
          (found.expiresAt ?? Infinity) + 5 > now;
    expect(isSound).toBe(true);
  },
  { numRuns: runs },
);
