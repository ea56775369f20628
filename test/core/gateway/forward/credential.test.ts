import { expect, test } from 'vitest';
import { credentialSource } from '../../../../src/core/gateway/forward/credential.ts';
import type { CallerGrant, UpstreamCredential } from '../../../../src/core/model/grant.ts';
import type { CredentialSource } from '../../../../src/core/model/gate.ts';
import type { Route } from '../../../../src/core/model/route.ts';
import { bearer } from '../../../support/bearer.ts';

const grant = {} as CallerGrant;
const routeWith = (token: string): Route => ({ upstream: { token } }) as Route;

test.each([
  ['none', undefined],
  ['forward', 'Bearer t'],
])('token: %s sends %s', (word, credential) => {
  expect(credentialSource(routeWith(word), [{}]).obtain(grant, bearer('t'))).toBe(credential);
});

test('a token to forward is missing only by a bug', () => {
  expect(() => credentialSource(routeWith('forward'), []).obtain(grant, undefined)).toThrow(TypeError);
});

test('a capability makes any other token, and without one the route is not served', () => {
  const credential: CredentialSource = { obtain: () => 'Bearer made' as UpstreamCredential };
  expect(credentialSource(routeWith('exchange'), [{}, { credential }])).toBe(credential);
  expect(() => credentialSource(routeWith('exchange'), [{}])).toThrow('no capability makes the token exchange');
});
