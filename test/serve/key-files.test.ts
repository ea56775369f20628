import { mkdtemp, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { type EditedGateway, sample, startEditedGateway } from '../support/gateway.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { startUpstream } from '../support/upstream.ts';
import { base, edited, refusals } from './config/folder.ts';

const upstream = startBeforeAll(() => startUpstream());
const issuer = 'https://issuer.example';

async function keyPair(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' },
    secret: { ...(await exportJWK(privateKey)), kid },
    token: () =>
      new SignJWT({ sub: 'alice', aud: 'a', iss: issuer })
        .setProtectedHeader({ alg: 'ES256', kid })
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey),
  };
}

async function statusOf(gateway: EditedGateway, token: string): Promise<number> {
  return (await fetch(`${gateway.url}/api`, { headers: { authorization: `Bearer ${token}` } })).status;
}

test('keys come from a file: a new key counts when it is there, and a withdrawn one no longer, also for cached tokens', async () => {
  const [one, two] = [await keyPair('one'), await keyPair('two')];
  const file = join(await mkdtemp(join(tmpdir(), 'sallyport-keys-')), 'set.json');
  const replace = async (text: string): Promise<void> => {
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
  };
  const write = (...keys: readonly object[]): Promise<void> => replace(JSON.stringify({ keys }));
  await write(one.jwk);
  const gateway = await forThisTest(
    startEditedGateway(
      `
authorization_servers: { main: { issuer: "${issuer}", jwt: { algorithms: [ES256], jwks: "file:${file}" } } }
routes: [{ name: api, path: /api, audience: a, upstream: { url: "${upstream.url}" } }]
`,
      {},
    ),
  );
  const [first, second] = [await one.token(), await two.token()];
  expect([await statusOf(gateway, first), await statusOf(gateway, second)]).toEqual([200, 401]);
  await gateway.after(() => write(one.jwk, two.jwk));
  expect([await statusOf(gateway, first), await statusOf(gateway, second)]).toEqual([200, 200]);
  await gateway.after(() => write(two.jwk));
  expect([await statusOf(gateway, first), await statusOf(gateway, second)]).toEqual([401, 200]);
  // As of a secret: an empty file is one that is being written.
  await gateway.after(() => replace(''));
  expect(await statusOf(gateway, second)).toBe(200);
  expect(await sample(gateway, 'sallyport_config_last_reload_successful')).toBe(0);
  await gateway.after(() => write());
  expect([await statusOf(gateway, first), await statusOf(gateway, second)]).toEqual([401, 401]);
});

describe('check refuses', () => {
  const jwks = (place: string) => edited(['algorithms: [RS256]', `algorithms: [RS256], jwks: "${place}"`]);
  test.each([
    ['file:none.json', undefined, 'names a file that does not exist'],
    ['file:set.json', 'x', 'names a file that is no JWK Set'],
    ['file:set.json', '{"kty":"EC"}', 'names a file that is no JWK Set'],
    [
      'file:set.json',
      '{"keys":[{"kty":"oct","k":"AAAA"}]}',
      'names a file with a private or symmetric key: write public ones only',
    ],
    [
      'file:set.json',
      '{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","p":"AQAB"}]}',
      'names a file with a private or symmetric key: write public ones only',
    ],
    ['ftp://x', undefined, 'is not an http(s) URL'],
  ])('%s with %s', async (place, text, message) => {
    const files: Record<string, string> = text === undefined ? {} : { 'set.json': text };
    expect(await refusals({ yaml: jwks(place), files })).toEqual([
      `gateway.yaml:5:39: authorization_servers.main.jwt.jwks: "${place}" ${message}`,
    ]);
  });

  test('not a set beside gateway.yaml, nor an empty one', async () => {
    expect(base).toContain('algorithms: [RS256]');
    expect(await refusals({ yaml: jwks('file:set.json'), files: { 'set.json': '{"keys":[]}' } })).toEqual([]);
  });
});
