import { exportSPKI, importJWK, type CryptoKey } from 'jose';
import { expect, test } from 'vitest';
import { createKey } from '../support/issuer.ts';
import { forgedToken, hmacWith } from './forged-token.ts';
import { apiAudience, startService } from './service.ts';
import { startBeforeAll } from '../support/start-before.ts';

const service = startBeforeAll(startService);

const accepted = { status: 200, challenge: null };
const refused = { status: 401, challenge: 'Bearer error="invalid_token"', text: '' };

/** `/demo/data` for a good token, and the reason in the log for any other. */
async function present(token: string): Promise<object> {
  const { status, challenge, text } = await service.send('/demo/data', { token });
  return status === 200 ? { status, challenge } : { status, challenge, text };
}

async function reason(): Promise<unknown> {
  return (await service.gateway.decision())['reason'];
}

function goodClaims(): Record<string, unknown> {
  const exp = Math.floor(Date.now() / 1000) + 300;
  return { iss: service.issuer.url, aud: apiAudience, sub: 'alice', scope: 'read', exp };
}

test('R-39: accepts a valid JWT', async () => {
  expect(await present(await service.apiToken())).toEqual(accepted);
});

test('R-39: refuses one changed byte of header, claims or signature', async () => {
  const parts = (await service.apiToken()).split('.');
  for (const index of [0, 1, 2]) {
    const part = parts[index] ?? '';
    const changed = part.slice(0, 20) + (part[20] === 'A' ? 'B' : 'A') + part.slice(21);
    expect(await present(parts.with(index, changed).join('.'))).toEqual(refused);
  }
});

test('R-40: refuses another issuer with the same key', async () => {
  expect(await present(await service.apiToken({ iss: 'https://evil.example' }))).toEqual(refused);
});

test('R-40: refuses the right issuer with a key that it did not publish', async () => {
  const stranger = await createKey('k1');
  expect(await present(await service.apiToken({}, { key: stranger }))).toEqual(refused);
  expect(await reason()).toBe('token.signature');
});

test('R-41: fetches the keys from the jwks_uri of the metadata', async () => {
  expect(await present(await service.apiToken())).toEqual(accepted);
  const paths = service.issuer.requests.map(({ path }) => path);
  expect(paths).toContain('/.well-known/oauth-authorization-server');
  expect(paths).toContain('/jwks');
});

test('R-43: refuses HS256 with the public key as the secret', async () => {
  const { publicJwk } = service.issuer.key;
  const pem = await exportSPKI((await importJWK(publicJwk, 'RS256')) as CryptoKey);
  const token = forgedToken({ alg: 'HS256', kid: 'k1', typ: 'at+jwt' }, goodClaims(), hmacWith(pem));
  expect(await present(token)).toEqual(refused);
  expect(await reason()).toBe('token.algorithm');
});

test('R-43: ignores a key in the token itself', async () => {
  const key = await createKey('k1');
  const embedded = { jwk: key.publicJwk, jku: 'https://evil.example/jwks', x5u: 'https://evil.example/x5u' };
  expect(await present(await service.apiToken({}, { key, header: embedded }))).toEqual(refused);
});

test('R-46: refuses an ID token, although all else is valid', async () => {
  const typ = 'JWT';
  expect(await present(await service.apiToken({ nonce: 'n', at_hash: 'h' }, { header: { typ } }))).toEqual(refused);
  expect(await present(await service.apiToken({}, { header: { typ } }))).toEqual(accepted);
});
