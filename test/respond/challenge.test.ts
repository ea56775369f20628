import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { challenge, dpopChallenge } from '../../src/respond/challenge.ts';
import { runs } from '../support/runs.ts';

test.each([
  [['invalid_token', [], undefined], 'Bearer error="invalid_token"'],
  [['invalid_token', ['read'], undefined], 'Bearer error="invalid_token", scope="read"'],
  [
    ['insufficient_scope', ['read', 'pay'], 'http://x/m'],
    'Bearer error="insufficient_scope", scope="read pay", resource_metadata="http://x/m"',
  ],
  [['invalid_token', [], 'http://x/m'], 'Bearer error="invalid_token", resource_metadata="http://x/m"'],
] as const)('%j', ([error, scope, resourceMetadata], value) => {
  expect(challenge({ error, scope, resourceMetadata })).toBe(value);
});

test('the same operation gives the same bytes, one line, whatever the scopes', () => {
  const token = fc.stringMatching(/^[!#-[\]-~]{1,8}$/);
  fc.assert(
    fc.property(fc.array(token), (scope) => {
      const wanted = { error: 'invalid_token', scope, resourceMetadata: undefined } as const;
      const value = challenge(wanted);
      expect(value).toBe(challenge(wanted));
      expect(value).toMatch(/^Bearer [ -~]+$/);
      expect(/scope="([^"]*)"/.exec(value)?.[1] ?? '').toBe(scope.join(' '));
    }),
  );
});

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
      const value = dpopChallenge({ error: code, scope, resourceMetadata, algorithms: ['ES256', 'EdDSA'] });
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
