import { expect, test } from 'vitest';
import { Denial } from '../../src/core/model/denial.ts';
import { requireAccessToken } from '../../src/tokens/access-token.ts';

test.each([
  ['an ID token by its nonce', { nonce: 'n' }, 'it has nonce'],
  ['by at_hash', { at_hash: 'h' }, 'it has at_hash'],
  ['by c_hash', { c_hash: 'h' }, 'it has c_hash'],
  ['by s_hash', { s_hash: 'h' }, 'it has s_hash'],
  ['a logout token', { events: {} }, 'it has events'],
  ['an ID token of Keycloak', { typ: 'ID' }, 'typ in its payload'],
  ['another form of it', { typ: 'Serialized-ID' }, 'typ in its payload'],
  ['a refresh token of Keycloak', { typ: 'Refresh' }, 'typ in its payload'],
  ['an offline token', { typ: 'Offline' }, 'typ in its payload'],
  ['a logout token of Keycloak', { typ: 'Logout' }, 'typ in its payload'],
  ['whatever says Bearer and has what only ID tokens have', { typ: 'Bearer', at_hash: 'h' }, 'it has at_hash'],
  ['an ID token of Cognito', { token_use: 'id' }, 'its token_use'],
  ['an unknown use', { token_use: 'refresh' }, 'its token_use'],
  ['a use of null', { token_use: null }, 'its token_use'],
  ['an ID token of Curity', { purpose: 'id' }, 'its purpose'],
  ['an ID token of Entra, 2.0', { ver: '2.0', tid: 't', name: 'x' }, 'neither azp nor appid'],
  ['an ID token of Entra, 1.0', { ver: '1.0', tid: 't', name: 'x' }, 'neither azp nor appid'],
  ['one with null for its client', { ver: '2.0', tid: 't', azp: null, appid: null }, 'neither azp nor appid'],
  ['an ID token with null for its nonce', { nonce: null }, 'it has nonce'],
])('refused: %s', (_title, claims, why) => {
  expect(() => requireAccessToken(claims, false)).toThrow(Denial);
  expect(() => requireAccessToken(claims, false), 'and the log says by what it was told').toThrow(why);
});

test.each([
  ['nothing in particular', {}],
  ['an access token of Keycloak', { typ: 'Bearer' }],
  ['one before version 25, which had a nonce', { typ: 'Bearer', nonce: 'n' }],
  ['one that is bound to a key', { typ: 'DPoP', nonce: 'n' }],
  ['an access token of Cognito', { token_use: 'access' }],
  ['one of oidc-provider', { token_use: 'access_token' }],
  ['an access token of Curity', { purpose: 'access_token' }],
  ['a purpose of the operator’s own', { purpose: 'billing' }],
  ['an access token of Entra, 2.0', { ver: '2.0', tid: 't', azp: 'a' }],
  ['an access token of Entra, 1.0', { ver: '1.0', tid: 't', appid: 'a' }],
  ['an access token of Okta, whose ver is a number', { ver: 1, tid: 't' }],
  ['a tenant of the operator’s own', { tid: 't' }],
  ['a version of the operator’s own', { ver: '2.0' }],
])('accepted: %s', (_title, claims) => {
  expect(() => requireAccessToken(claims, false)).not.toThrow();
});

test('a token with typ at+jwt is refused only for a stated kind, not for foreign claims', () => {
  expect(() => requireAccessToken({ nonce: 'n', ver: '2.0', tid: 't' }, true)).not.toThrow();
  expect(() => requireAccessToken({ typ: 'ID' }, true)).toThrow(Denial);
  expect(() => requireAccessToken({ token_use: 'id' }, true)).toThrow(Denial);
});
