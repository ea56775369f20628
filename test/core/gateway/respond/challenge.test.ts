import { extractWWWAuthenticateParams, isDpopNonceChallenge } from '@modelcontextprotocol/client';
import { extractWWWAuthenticateParams as extractV1 } from '@modelcontextprotocol/sdk/client/auth.js';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { noFields } from '../../../../src/core/gateway/listen/call.ts';
import type { Call } from '../../../../src/core/model/call.ts';
import { Denial } from '../../../../src/core/model/denial.ts';
import { refusals } from '../../../../src/capabilities/all.ts';
import { type NamedRefusal, reasonsOf } from '../../../../src/core/model/refusal.ts';
import type { Route } from '../../../../src/core/model/route.ts';
import { challenge, createChallenges } from '../../../../src/core/gateway/respond/challenge.ts';
import { runs } from '../../../support/runs.ts';

// test/pins/challenges.test.ts has whole challenges.
test('RFC 9110 §11.6.1 — whatever the scopes, a reader of auth-params finds each parameter once, as it was given', () => {
  const scopes = fc.array(fc.stringMatching(/^[!#-[\]-~]{1,8}$/), { maxLength: 4 });
  const error = fc.constantFrom(
    'invalid_token',
    'insufficient_scope',
    'invalid_dpop_proof',
    'use_dpop_nonce',
    undefined,
  );
  fc.assert(
    fc.property(error, scopes, fc.webUrl(), (code, scope, resourceMetadata) => {
      const value = challenge('DPoP', { error: code, scope, resourceMetadata, algorithms: ['ES256', 'EdDSA'] });
      const [scheme, rest = ''] = value.split(/ (.*)/s);
      const parameters = [...rest.matchAll(/(?:^|, )([a-z_]+)="([^"\\]*)"(?=, |$)/g)];
      expect(scheme).toBe('DPoP');
      expect(parameters.map(([all]) => all).join('')).toBe(rest);
      expect(Object.fromEntries(parameters.map(([, name, given]) => [name, given]))).toEqual({
        ...(code !== undefined && { error: code }),
        ...(scope.length > 0 && { scope: scope.join(' ') }),
        resource_metadata: resourceMetadata,
        algs: 'ES256 EdDSA',
      });
    }),
    { numRuns: runs },
  );
});

const publicUrl = 'https://gateway.example';
const metadata = new URL('https://gateway.example/.well-known/oauth-protected-resource/mcp');
const proofs = { required: false, algorithms: ['ES256', 'EdDSA'] };
const resource = { scopesSupported: ['read', 'payments'] };
const policy = { scope: ['read'] };
const route = {
  protocol: 'mcp',
  path: '/mcp',
  resource,
  policy,
  firstChallenge: 'policy',
  proofs,
} as unknown as Route;

/** Rows as a capability brings them. */
const ofProofs = reasonsOf({
  'a bad proof': { status: 401, error: 'invalid_dpop_proof', message: '' },
  'a nonce': { status: 401, error: 'use_dpop_nonce', message: '', isAsking: true },
});

/** The answer as a client gets it: with each challenge in a line of its own. */
function answer(of: Route, authorization: string | undefined, reason: string, scope: readonly string[] = []): Response {
  const call = { fields: { ...noFields, authorization } } as Call;
  const refusal = { ...refusals, ...ofProofs }[reason] as NamedRefusal;
  const challenges = createChallenges(of, publicUrl)(call, refusal, new Denial(refusal, '', { scope }));
  const headers = new Headers();
  for (const each of [challenges ?? []].flat()) headers.append('WWW-Authenticate', each);
  return new Response(null, { status: refusal.status, headers });
}

describe('what the official clients understand', () => {
  test.each<[string, string | undefined, string]>([
    ['no token', undefined, 'credentials.missing'],
    ['a Bearer that has ended', 'Bearer x', 'token.expired'],
    ['a bound token as Bearer', 'Bearer x', 'token.sender_constrained'],
    ['DPoP that has ended', 'DPoP x', 'token.expired'],
    ['DPoP with a bad proof', 'DPoP x', 'a bad proof'],
  ])('%s: where to begin, in both generations', (_title, authorization, reason) => {
    const begin = { resourceMetadataUrl: metadata, scope: 'read', error: 'invalid_token' };
    expect(extractV1(answer(route, authorization, reason))).toEqual(begin);
    expect(extractWWWAuthenticateParams(answer(route, authorization, reason))).toEqual({
      ...begin,
      errorDescription: undefined,
    });
    expect(isDpopNonceChallenge(answer(route, authorization, reason))).toBe(false);
  });

  test.each([['Bearer x'], ['DPoP x']])('%s without a scope: which one', (authorization) => {
    const poor = answer(route, authorization, 'scope.insufficient', ['read', 'payments']);
    const stepUp = { resourceMetadataUrl: metadata, scope: 'read payments', error: 'insufficient_scope' };
    expect(extractV1(poor)).toEqual(stepUp);
    expect(extractWWWAuthenticateParams(poor)).toEqual({ ...stepUp, errorDescription: undefined });
  });

  test('a nonce: DPoP comes first, for clients that look at the beginning only, and Bearer second', () => {
    const wanted = answer(route, 'DPoP x', 'a nonce');
    expect(isDpopNonceChallenge(wanted)).toBe(true);
    expect(wanted.headers.get('www-authenticate')).toMatch(
      /^DPoP error="use_dpop_nonce", .*, Bearer error="invalid_token", /,
    );
    expect(extractWWWAuthenticateParams(wanted)).toMatchObject({ resourceMetadataUrl: metadata, scope: 'read' });
    const api = { ...route, protocol: 'http', resource: undefined } as Route;
    expect(isDpopNonceChallenge(answer(api, 'DPoP x', 'a nonce'))).toBe(true);
  });

  test('what no token mends has no challenge', () => {
    expect(answer(route, 'DPoP x', 'claim.denied').headers.has('www-authenticate')).toBe(false);
  });
});

describe('first_challenge: the scopes that a 401 names', () => {
  const api = { ...route, protocol: 'http', path: '/api', proofs: undefined };
  const named = (of: Route, reason: string): string | null =>
    answer(of, undefined, reason, ['read', 'payments']).headers.get('www-authenticate');

  test.each([
    ['policy', 'Bearer error="invalid_token", scope="read", resource_metadata="', 'Bearer scope="read"'],
    [
      'supported',
      'Bearer error="invalid_token", scope="read payments", resource_metadata="',
      'Bearer scope="read payments"',
    ],
    ['none', 'Bearer error="invalid_token", resource_metadata="', 'Bearer'],
  ] as const)('%s', (firstChallenge, mcp, http) => {
    expect(named({ ...route, proofs: undefined, firstChallenge }, 'token.expired')).toBe(`${mcp}${metadata.href}"`);
    expect(named({ ...api, firstChallenge } as Route, 'credentials.missing')).toBe(http);
    expect(named({ ...api, firstChallenge } as Route, 'token.expired')).toBe(
      http.replace(/^Bearer ?/, 'Bearer error="invalid_token", ').replace(/, $/, ''),
    );
  });

  test('are in the DPoP challenge too', () => {
    expect(named({ ...route, firstChallenge: 'supported' }, 'token.expired')).toContain('DPoP scope="read payments"');
  });

  test('are none without a policy, or without scopes_supported', () => {
    const bare = { ...route, proofs: undefined, policy: undefined, resource: { scopesSupported: undefined } } as Route;
    for (const firstChallenge of ['policy', 'supported'] as const) {
      expect(named({ ...bare, firstChallenge }, 'token.expired')).toBe(
        `Bearer error="invalid_token", resource_metadata="${metadata.href}"`,
      );
    }
  });
});

test('a challenge without parameters is the scheme alone', () => {
  expect(challenge('Bearer', {})).toBe('Bearer');
});

describe('RFC 6750 §3 and RFC 9449 §7.1: what each scheme says', () => {
  const bare = { protocol: 'http', path: '/api', policy: { scope: ['read'] }, proofs } as unknown as Route;
  const resource = { ...bare, resource: {} } as Route;
  const plain = { protocol: 'mcp', path: '/mcp', proofs } as unknown as Route;
  const at = 'resource_metadata="https://gateway.example/.well-known/oauth-protected-resource';

  const algs = 'DPoP algs="ES256 EdDSA"';
  const invalidBearer = `Bearer error="invalid_token", ${algs}`;
  const invalidDpop = 'Bearer, DPoP error="invalid_token", algs="ES256 EdDSA"';
  const poor = `error="insufficient_scope", scope="read", ${at}/api"`;
  test.each<[string, Route, string | undefined, string, string]>([
    ['no token: no error code', bare, undefined, 'credentials.missing', `Bearer, ${algs}`],
    ['a Bearer', bare, 'Bearer x', 'token.expired', invalidBearer],
    ['the other scheme', bare, 'DPoP x', 'token.expired', invalidDpop],
    ['the other scheme, in another case and without a token', bare, 'dpop', 'token.malformed', invalidDpop],
    ['a scheme that begins alike', bare, 'DPoPx x', 'credentials.missing', `Bearer, ${algs}`],
    ['a Bearer whose token names the other', bare, 'Bearer dpop ', 'token.malformed', invalidBearer],
    ['an API that is a resource says where only with a scope', resource, 'DPoP x', 'token.expired', invalidDpop],
    [
      'a scope is missing',
      resource,
      'DPoP x',
      'scope.insufficient',
      `Bearer ${poor}, DPoP ${poor}, algs="ES256 EdDSA"`,
    ],
    [
      'MCP: where to begin',
      route,
      undefined,
      'credentials.missing',
      `Bearer error="invalid_token", scope="read", ${at}/mcp", DPoP scope="read", ${at}/mcp", algs="ES256 EdDSA"`,
    ],
    ['MCP without a policy and metadata', plain, undefined, 'credentials.missing', invalidBearer],
    ['without DPoP', { ...bare, proofs: undefined }, 'DPoP x', 'token.expired', 'Bearer error="invalid_token"'],
  ])('%s', (_title, of, authorization, reason, wanted) => {
    expect(answer(of, authorization, reason, ['read']).headers.get('www-authenticate')).toBe(wanted);
  });
});
