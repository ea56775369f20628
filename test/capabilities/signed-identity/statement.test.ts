import { createLocalJWKSet, decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { createRotatingKeys, ROTATION_MS } from '../../../src/tokens/rotating-keys.ts';
import type { Principal } from '../../../src/core/model/principal.ts';
import { createStatement } from '../../../src/capabilities/signed-identity/statement.ts';

const issuer = 'https://gateway.example';
const secret = 'k3y-of-at-least-thirty-two-characters';
const identity = { header: 'x-auth-identity', claims: [] as readonly string[], audience: 'http://orders:3000' };
const midnight = 20_000 * ROTATION_MS;
const noon = midnight + ROTATION_MS / 2;
const alice = {
  issuer: 'https://as.example',
  subject: 'alice',
  clientId: 'web',
  scopes: new Set(['write', 'read']),
  expiresAt: noon / 1000 + 300,
  claims: {},
} as unknown as Principal;

/** The statement of a gateway with a secret about a caller. */
function signed(caller: Partial<Principal> = {}, settings = identity, now = noon, of = secret): string {
  return createStatement(settings, issuer, createRotatingKeys(of), () => now)({ ...alice, ...caller }, 'decision-1');
}

/** As an upstream does by the documentation, with the key set that it fetched at a time. */
async function verified(jwt: string, audience = identity.audience, now = noon, fetchedAt = now): Promise<JWTPayload> {
  const keys = createLocalJWKSet({ keys: [...createRotatingKeys(secret).published(fetchedAt)] });
  const options = { issuer, audience, typ: 'sallyport-identity+jwt', algorithms: ['ES256'] };
  return (await jwtVerify(jwt, keys, { ...options, currentDate: new Date(now) })).payload;
}

describe('the statement', () => {
  test('names the subject, the client, the scopes, the upstream and the decision', async () => {
    expect(await verified(signed())).toEqual({
      iss: issuer,
      aud: 'http://orders:3000',
      sub: 'alice',
      client_id: 'web',
      scope: 'write read',
      token_issuer: 'https://as.example',
      jti: 'decision-1',
      iat: noon / 1000,
      exp: noon / 1000 + 60,
    });
  });

  test('has the chosen claims under the names that chose them, and its own audience', async () => {
    const settings = {
      ...identity,
      claims: ['risk', '/realm_access/roles', 'missing', 'constructor', 'iss'],
      audience: 'api-1',
    };
    const claims = { risk: { score: 4 }, realm_access: { roles: ['trader'] }, iss: 'https://as.example' };
    const jwt = signed({ claims }, settings);
    const payload = await verified(jwt, 'api-1');
    expect(payload).toMatchObject({ iss: issuer, risk: { score: 4 }, '/realm_access/roles': ['trader'] });
    expect(Object.keys(payload).filter((name) => name === 'missing' || name === 'constructor')).toEqual([]);
    await expect(verified(jwt)).rejects.toThrow(errors.JWTClaimValidationFailed);
  });

  test('makes up no subject and no client', () => {
    const payload = decodeJwt(signed({ subject: undefined, clientId: undefined }));
    expect(Object.keys(payload).toSorted()).toEqual(['aud', 'exp', 'iat', 'iss', 'jti', 'scope', 'token_issuer']);
  });

  test('leaves out a scope with a space, which would read as two', () => {
    expect(decodeJwt(signed({ scopes: new Set(['orders', 'x admin']) }))['scope']).toBe('orders');
  });

  test('never outlives the token', () => {
    expect(decodeJwt(signed({ expiresAt: noon / 1000 + 20.5 })).exp).toBe(noon / 1000 + 20);
  });

  test('verifies with the key set of no gateway with another key', async () => {
    await expect(verified(signed({}, identity, noon, `another ${secret}`))).rejects.toThrow(errors.JWKSNoMatchingKey);
  });

  test('verifies with a key set that is cached for five minutes, across two rotations', async () => {
    for (const rotation of [midnight, midnight + ROTATION_MS]) {
      for (const now of [rotation - 1, rotation, rotation + 300_000]) {
        const jwt = signed({ expiresAt: undefined }, identity, now);
        await expect(verified(jwt, undefined, now, rotation - 1)).resolves.toMatchObject({ iss: issuer });
      }
      const before = signed({ expiresAt: undefined }, identity, rotation - 1);
      await expect(verified(before, undefined, rotation + 1)).resolves.toMatchObject({ iss: issuer });
    }
  });
});
