import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Reason } from '../../src/model/reasons.ts';
import { startIssuer, type Issuer, type SignOptions } from '../support/issuer.ts';
import { get } from './requests.ts';
import { type AttackWorld, AUDIENCE, startAttackWorld } from '../worlds/attacks.ts';

let world: AttackWorld;
/** An issuer that no route trusts, although it signs with the same key. */
let other: Issuer;
beforeAll(async () => {
  // Each of them would otherwise count.
  world = await startAttackWorld({ yaml: 'limits: { failures: off }' });
  other = await startIssuer(0, world.issuer.key);
});
afterAll(async () => {
  await Promise.all([world.close(), other.close()]);
});

async function expectRefused(
  claims: Record<string, unknown>,
  reason: Reason | `${Reason}|${Reason}`,
  options?: SignOptions,
) {
  const token = await world.issuer.sign({ aud: AUDIENCE, scope: 'read', ...claims }, options);
  world.secrets.push(token);
  for (const _ of ['first', 'again']) {
    await world.withstand(get('/api', token), { statuses: [401], reasons: [reason] });
  }
}

describe('the issuer', () => {
  test('is refused if it is another one with the same key', async () => {
    const token = await other.sign({ aud: AUDIENCE, scope: 'read' });
    await world.withstand(get('/api', token), { statuses: [401], reasons: ['token.issuer'] });
  });

  test('is refused if its name is only similar', async () => {
    const { url } = world.issuer;
    const { port } = new URL(url);
    for (const iss of [
      `${url}/`,
      `${url}#`,
      `${url}?`,
      `${url} `,
      url.toUpperCase(),
      url.replace('http', 'https'),
      url.replace('127.0.0.1', 'localhost'),
      url.replace('127.0.0.1', '127.1'),
      `http://127.0.0.1:${port}/.`,
      `http://x@127.0.0.1:${port}`,
      `http://127.0.0.1:0${port}`,
      'http://127.0.0.1',
      '',
      undefined,
      null,
      [url],
      { toString: url },
      0,
    ]) {
      await expectRefused({ iss }, 'token.issuer|token.claims');
    }
  });
});

describe('the audience', () => {
  test.each<[string, unknown]>([
    ['absent', undefined],
    ['null', null],
    ['empty', ''],
    ['an empty list', []],
    ['a prefix', AUDIENCE.slice(0, -1)],
    ['more than it', `${AUDIENCE}.evil.example`],
    ['with a slash', `${AUDIENCE}/`],
    ['with a path', `${AUDIENCE}/api`],
    ['in capitals', AUDIENCE.toUpperCase()],
    ['with a port', `${AUDIENCE}:443`],
    ['with space', ` ${AUDIENCE}`],
    ['in a string of several', `${AUDIENCE} https://other.example`],
    ['with a wildcard', '*'],
    ['a wildcard of hosts', 'https://*.example'],
    ['in a list in a list', [[AUDIENCE]]],
    ['in a list beside a number', [AUDIENCE, 1]],
    ['in a list beside nothing', [AUDIENCE, null]],
    ['an object', { [AUDIENCE]: true }],
    ['an object like a list', { 0: AUDIENCE, length: 1 }],
    ['a number', 1],
    ['true', true],
    ['of another route', 'http://gateway.test/mcp'],
    ['the issuer', 'ISSUER'],
  ])('is refused: %s', async (_what, aud) => {
    await expectRefused({ aud: aud === 'ISSUER' ? world.issuer.url : aud }, 'token.audience');
  });
});

describe('another kind of token', () => {
  test.each<[string, Record<string, unknown>, SignOptions]>([
    ['an ID token by its nonce', { nonce: 'n' }, { header: { typ: 'JWT' } }],
    ['an ID token by at_hash', { at_hash: 'h' }, { header: { typ: 'JWT' } }],
    ['an ID token by c_hash', { c_hash: 'h' }, { header: { typ: 'JWT' } }],
    ['an ID token without typ', { nonce: 'n' }, { header: { typ: undefined } }],
    ['a logout token', {}, { header: { typ: 'logout+jwt' } }],
    [
      'a logout token by its events',
      { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } },
      { header: { typ: 'JWT' } },
    ],
    [
      'a proof of possession',
      { htm: 'GET', htu: 'http://gateway.test/api', jti: 'x' },
      { header: { typ: 'dpop+jwt' } },
    ],
    [
      'an introspection answer',
      { token_introspection: { active: true } },
      { header: { typ: 'token-introspection+jwt' } },
    ],
    ['an authorization request', {}, { header: { typ: 'oauth-authz-req+jwt' } }],
    ['a security event', {}, { header: { typ: 'secevent+jwt' } }],
    ['a refresh token', {}, { header: { typ: 'rt+jwt' } }],
    ['a refresh token of Keycloak', { typ: 'Refresh' }, { header: { typ: 'JWT' } }],
    ['an ID token of Keycloak', { typ: 'ID' }, { header: { typ: 'JWT' } }],
    ['an ID token of Cognito', { token_use: 'id' }, { header: { typ: 'JWT' } }],
  ])('is refused: %s', async (_what, claims, options) => {
    await expectRefused(claims, 'token.type', options);
  });

  test.each([
    ['of a client certificate', { 'x5t#S256': 'x' }],
    ['of a key', { jkt: 'x' }],
    ['of a key in full', { jwk: { kty: 'oct' } }],
    ['of nothing that is known', { kid: 'x' }],
    ['that is empty', {}],
    ['that is no object', 'x'],
    ['that is null', null],
  ])('refuses a token bound to proof %s without the proof', async (_what, cnf) => {
    const token = await world.issuer.sign({ aud: AUDIENCE, scope: 'read', cnf });
    world.secrets.push(token);
    const { decisions } = await world.withstand(get('/api', token), { statuses: [401] });
    expect(decisions).toMatchObject([{ reason: expect.stringMatching(/^token\./) as string }]);
  });
});

describe('the time', () => {
  test.each<[string, Record<string, unknown>, Reason | `${Reason}|${Reason}`]>([
    ['no exp', { exp: undefined }, 'token.claims'],
    ['exp null', { exp: null }, 'token.claims'],
    ['exp a string', { exp: '99999999999' }, 'token.claims'],
    ['exp a list', { exp: [99_999_999_999] }, 'token.claims'],
    ['exp true', { exp: true }, 'token.claims'],
    ['exp long ago', { exp: 1 }, 'token.expired'],
    ['exp below zero', { exp: -99_999_999_999 }, 'token.expired'],
    ['nbf to come', { nbf: 99_999_999_999 }, 'token.not_yet_valid'],
    ['nbf a string', { nbf: '0' }, 'token.claims|token.not_yet_valid'],
    ['iat a string', { iat: '0' }, 'token.claims'],
  ])('is refused: %s', async (_what, claims, reason) => {
    await expectRefused(claims, reason);
  });
});

describe('who and what for', () => {
  test.each<[string, Record<string, unknown>, Reason]>([
    ['sub a number', { sub: 1 }, 'token.claims'],
    ['sub a list', { sub: ['alice'] }, 'token.claims'],
    ['sub null', { sub: null }, 'token.claims'],
    ['client_id an object', { client_id: {} }, 'token.claims'],
    ['scope a number', { scope: 1 }, 'token.claims'],
    ['scope an object', { scope: { read: true } }, 'token.claims'],
    ['scope a list of lists', { scope: [['read']] }, 'token.claims'],
    ['scope null', { scope: null }, 'token.claims'],
  ])('is refused: %s', async (_what, claims, reason) => {
    await expectRefused(claims, reason);
  });

  test.each(['READ', 'read,admin', 'read\tadmin', 'reader', 'rea', '*', 'read\u00A0', ''])(
    'ignores the scope %j',
    async (scope) => {
      const token = await world.token({ scope });
      await world.withstand(get('/api', token), { statuses: [403], reasons: ['scope.insufficient'] });
    },
  );
});
