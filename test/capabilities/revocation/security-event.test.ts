/** What events mean, and which SETs are refused. `push.test.ts` has one of each over a socket. */
import { createLocalJWKSet, SignJWT } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';
import { effectOf, type ExpectedSet, verifiedSet } from '../../../src/capabilities/revocation/security-event.ts';
import { createKey, type IssuerKey } from '../../support/issuer.ts';
import { caep, risc } from '../../support/transmitter.ts';

const oauth = 'https://schemas.openid.net/secevent/oauth/event-type/';
const revoked = `${caep}session-revoked`;

test.each([
  [revoked, {}, 'revoke'],
  [`${caep}credential-change`, { change_type: 'revoke' }, 'revoke'],
  [`${caep}credential-change`, { change_type: 'delete' }, 'revoke'],
  [`${caep}credential-change`, { change_type: 'update' }, 'revoke'],
  [`${caep}credential-change`, { change_type: 'create' }, 'drop'],
  [`${caep}credential-change`, { change_type: 'forget' }, 'malformed'],
  [`${caep}token-claims-change`, { claims: { role: 'none' } }, 'revoke'],
  [`${caep}assurance-level-change`, { current_level: 'nist-aal1', change_direction: 'decrease' }, 'revoke'],
  [`${caep}assurance-level-change`, { current_level: 'nist-aal1' }, 'revoke'],
  [`${caep}assurance-level-change`, { current_level: 'nist-aal2', change_direction: 'increase' }, 'drop'],
  [`${caep}risk-level-change`, { current_level: 'HIGH', previous_level: 'LOW' }, 'revoke'],
  [`${caep}risk-level-change`, { current_level: 'MEDIUM' }, 'revoke'],
  [`${caep}risk-level-change`, { current_level: 'LOW', previous_level: 'HIGH' }, 'drop'],
  [`${caep}risk-level-change`, { current_level: 'NONE' }, 'malformed'],
  [`${caep}device-compliance-change`, { current_status: 'not-compliant' }, 'revoke'],
  [`${caep}device-compliance-change`, { current_status: 'compliant' }, 'drop'],
  [`${caep}device-compliance-change`, {}, 'malformed'],
  [`${risc}account-disabled`, { reason: 'hijacking' }, 'revoke'],
  [`${risc}account-purged`, {}, 'revoke'],
  [`${risc}account-credential-change-required`, {}, 'revoke'],
  [`${risc}credential-compromise`, {}, 'revoke'],
  [`${risc}sessions-revoked`, {}, 'revoke'],
  [`${risc}account-enabled`, {}, 'drop'],
  [`${oauth}tokens-revoked`, {}, 'revoke'],
  [`${oauth}token-revoked`, {}, 'revoke'],
  [`${caep}session-established`, {}, 'none'],
  ['https://example.com/event/unknown', {}, undefined],
  ['toString', {}, undefined],
])('R-317: %s %j: %s', (uri, payload, effect) => {
  expect(effectOf(uri, payload)).toBe(effect);
});

describe('R-319, RFC 8417 §2.2, RFC 8935 §2.4: a SET', () => {
  const issuer = 'https://transmitter.example';
  const now = 1_800_000_000;
  let key: IssuerKey;
  let expected: ExpectedSet;
  beforeAll(async () => {
    key = await createKey('t1');
    const keys = createLocalJWKSet({ keys: [key.publicJwk] });
    expected = { issuer, audiences: ['http://gateway.test'], keys };
  });

  /** Signs a SET; undefined leaves a member out. */
  function signed(claims: object = {}, header: object = {}, by = key): Promise<string> {
    const all = { iss: issuer, aud: 'http://gateway.test', iat: now, jti: 'j', events: { [revoked]: {} }, ...claims };
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const protectedHeader = { alg: by.alg, kid: by.kid, typ: 'secevent+jwt', ...header };
    return new SignJWT(given).setProtectedHeader(protectedHeader).sign(by.privateKey);
  }
  const forged = (alg: string): string =>
    `${Buffer.from(JSON.stringify({ alg, kid: 't1', typ: 'secevent+jwt' })).toString('base64url')}.e30.YQ`;
  const verified = (text: string) => verifiedSet(text, expected, () => now * 1000);

  test('is read with its subject, which older events have inside', async () => {
    const subject = { format: 'opaque', id: 'jane' };
    expect(await verified(await signed({ sub_id: subject, txn: 't' }))).toEqual({
      id: 'j',
      issuedAt: now,
      uri: revoked,
      payload: {},
      subject,
      transaction: 't',
    });
    expect(await verified(await signed({ events: { [revoked]: { subject } } }))).toMatchObject({ subject });
  });

  test.each<[title: string, code: string, set: () => string | Promise<string>]>([
    ['another typ', 'invalid_request', () => signed({}, { typ: 'JWT' })],
    ['no typ', 'invalid_request', () => signed({}, { typ: undefined })],
    ['another issuer', 'invalid_issuer', () => signed({ iss: 'https://other.example' })],
    ['another audience', 'invalid_audience', () => signed({ aud: 'https://other.example' })],
    ['no audience', 'invalid_audience', () => signed({ aud: undefined })],
    ['an exp', 'invalid_request', () => signed({ exp: now + 60 })],
    ['an exp that has passed', 'invalid_request', () => signed({ exp: 1 })],
    ['a sub', 'invalid_request', () => signed({ sub: 'alice' })],
    ['no iat', 'invalid_request', () => signed({ iat: undefined })],
    ['no jti', 'invalid_request', () => signed({ jti: undefined })],
    ['an empty jti', 'invalid_request', () => signed({ jti: '' })],
    ['two events', 'invalid_request', () => signed({ events: { [revoked]: {}, [`${risc}account-disabled`]: {} } })],
    ['no event', 'invalid_request', () => signed({ events: {} })],
    ['an event that is no object', 'invalid_request', () => signed({ events: { [revoked]: 1 } })],
    ['a key that is not published', 'invalid_key', async () => signed({}, {}, await createKey('unknown'))],
    ['a forged signature', 'invalid_key', async () => signed({}, {}, await createKey('t1'))],
    ['a symmetric algorithm', 'invalid_key', () => forged('HS256')],
    ['no signature', 'invalid_key', () => forged('none')],
    ['no JWT', 'invalid_request', () => 'hello'],
    ['nothing', 'invalid_request', () => ''],
    ['more than 64 KiB', 'invalid_request', () => 'x'.repeat(64 * 1024 + 1)],
  ])('with %s is refused: %s', async (_, code, set) => {
    await expect(verified(await set())).rejects.toMatchObject({ name: 'SetError', code });
  });

  test('says nothing of a SET while the keys cannot be fetched', async () => {
    const outage = new Error('no keys');
    const keys = (): Promise<never> => Promise.reject(outage);
    await expect(verifiedSet(await signed(), { ...expected, keys }, () => now * 1000)).rejects.toBe(outage);
  });
});
