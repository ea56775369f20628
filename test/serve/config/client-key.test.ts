import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { upstreamToken } from '../../../src/capabilities/exchange/slot.ts';
import type { ClientCredentials } from '../../../src/core/model/authorization-server.ts';
import { casesOf, servers } from './edits.ts';
import { edited, loaded, refusals, type Situation } from './folder.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve });
const p256 = ec('P-256');
const ed25519 = generateKeyPairSync('ed25519');

const pem = (key: KeyObject): string =>
  key.export({ format: 'pem', type: key.type === 'public' ? 'spki' : 'pkcs8' }) as string;
const jwk = (key: KeyObject, members: object = {}): string =>
  JSON.stringify({ ...key.export({ format: 'jwk' }), ...members });

/** The key in a file, as operators have it. */
function withKey(key: string, members = 'client_auth: private_key_jwt'): Situation {
  const yaml = edited(['client_secret: s3cr3t', `${members}, client_key: "\${file:key}"`]);
  return { yaml, files: { key } };
}

async function credentials(situation: Situation): Promise<ClientCredentials | undefined> {
  return (await loaded(situation)).authorizationServers.get('main')?.introspection?.credentials;
}

describe('a private key', () => {
  test.each([
    ['RSA in PEM', pem(rsa.privateKey), 'RS256'],
    ['RSA in the older PEM', rsa.privateKey.export({ format: 'pem', type: 'pkcs1' }) as string, 'RS256'],
    ['P-256 in the older PEM', p256.privateKey.export({ format: 'pem', type: 'sec1' }) as string, 'ES256'],
    ['P-256 in PEM', pem(p256.privateKey), 'ES256'],
    ['P-384 in PEM', pem(ec('P-384').privateKey), 'ES384'],
    ['P-521 in PEM', pem(ec('P-521').privateKey), 'ES512'],
    ['Ed25519 in PEM', pem(ed25519.privateKey), 'EdDSA'],
    ['RSA as JWK', jwk(rsa.privateKey), 'RS256'],
    ['RSA as JWK for PS256', jwk(rsa.privateKey, { alg: 'PS256', use: 'sig', key_ops: ['sign'] }), 'PS256'],
    ['Ed25519 as JWK by its newer name', jwk(ed25519.privateKey, { alg: 'Ed25519' }), 'Ed25519'],
    ['with line breaks around it', `\n${jwk(p256.privateKey)}\n`, 'ES256'],
  ])('accepts %s', async (_title, key, algorithm) => {
    await expect(credentials(withKey(key))).resolves.toMatchObject({
      clientId: 'gateway',
      clientAuth: 'private_key_jwt',
      algorithm,
      keyId: undefined,
    });
  });

  test('has the kid of the JWK, unless the configuration sets another', async () => {
    const key = jwk(p256.privateKey, { kid: 'one' });
    await expect(credentials(withKey(key))).resolves.toMatchObject({ keyId: 'one' });
    const named = withKey(key, 'client_auth: private_key_jwt, client_key_id: two');
    await expect(credentials(named)).resolves.toMatchObject({ keyId: 'two' });
  });

  const noKey = 'is not an unencrypted private key: PEM (PKCS#8), or a private JWK as JSON';
  test.each([
    ['no key', 'hello', noKey],
    ['a public key', pem(p256.publicKey), noKey],
    [
      'a key behind a password',
      p256.privateKey.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' }) as string,
      noKey,
    ],
    ['half a PEM', pem(p256.privateKey).slice(0, 90), noKey],
    ['half a JWK', jwk(p256.privateKey).slice(0, 90), 'is not a JWK: it is not valid JSON'],
    ['a public JWK', jwk(p256.publicKey), 'is not a private JWK: it has no d'],
    ['a secret as JWK', '{"kty":"oct","k":"c2VjcmV0"}', 'is not a private JWK: it has no d'],
    ['a set', `{"keys":[${jwk(p256.privateKey)}]}`, 'is a JWK Set: write one of its keys'],
    ['a JWK with a d of no kind', jwk(p256.privateKey, { kty: 'x' }), noKey],
    [
      'a key for encryption',
      jwk(p256.privateKey, { use: 'enc' }),
      'is a JWK that is not for signatures: its use is not sig',
    ],
    [
      'a key for other operations',
      jwk(p256.privateKey, { key_ops: ['deriveBits'] }),
      'is a JWK that is not for signing: its key_ops do not include sign',
    ],
    ['an alg of another kind of key', jwk(p256.privateKey, { alg: 'RS256' }), 'has an alg other than ES256'],
    ['a symmetric alg', jwk(p256.privateKey, { alg: 'HS256' }), 'has an alg other than ES256'],
    ['a kid that is a number', jwk(p256.privateKey, { kid: 1 }), 'has a kid that is not a string'],
    [
      'a small RSA key',
      pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey),
      'is too small: an RSA key needs 2048 bits (RFC 7518 §3.3)',
    ],
    ['another curve', pem(ec('secp256k1').privateKey), 'is not an RSA, P-256, P-384, P-521 or Ed25519 key'],
    [
      'a key to agree on others',
      pem(generateKeyPairSync('x25519').privateKey),
      'is not an RSA, P-256, P-384, P-521 or Ed25519 key',
    ],
    [
      'the parts of two keys',
      jwk(p256.privateKey, { d: (ec('P-256').privateKey.export({ format: 'jwk' }) as { d: string }).d }),
      'cannot sign: its parts do not belong to one key',
    ],
  ])('refuses %s', async (_title, key, message) => {
    expect(await refusals(withKey(key))).toEqual([
      `gateway.yaml:6:84: ${servers}.introspection.client_key: the value ${message}`,
    ]);
  });

  test('no message shows a private key that has a fault', async () => {
    const secret = jwk(p256.privateKey, { alg: 'top-secret' });
    const { yaml } = withKey(secret);
    const inline = (yaml as string).replace('"${file:key}"', `'${secret}'`);
    const lines = [...(await refusals({ yaml: inline })), ...(await refusals(withKey(secret)))].join('\n');
    expect(lines).toContain('client_key: the value has an alg other than ES256');
    expect(lines).not.toContain('top-secret');
    expect(lines).not.toContain((JSON.parse(secret) as { d: string }).d);
  });
});

describe('credentials of introspection', () => {
  const at = `${servers}.introspection`;
  test.each(
    casesOf(`
client_auth: private_key_jwt
  6:20: ${at}: missing key: client_key (client_auth is private_key_jwt)
client_auth: private_key_jwt, client_secret: s, client_key: "\${file:key}"
  6:72: ${at}.client_secret: applies only with client_auth: client_secret_basic or client_secret_post
client_secret: s, client_key: "\${file:key}", client_key_id: k
  6:60: ${at}.client_key: applies only with client_auth: private_key_jwt
  6:87: ${at}.client_key_id: applies only with client_auth: private_key_jwt
client_key: "\${file:key}"
  6:20: ${at}: missing key: client_secret
  6:42: ${at}.client_key: applies only with client_auth: private_key_jwt
client_auth: private_key_jwt, client_key: ""
  6:84: ${at}.client_key: must not be empty
`),
  )('refuses %s', async (members, lines) => {
    const yaml = edited(['client_secret: s3cr3t', members]);
    expect(await refusals({ yaml, files: { key: pem(p256.privateKey) } })).toEqual(
      lines.map((line) => `gateway.yaml:${line}`),
    );
  });
});

describe('the client of an exchange', () => {
  const keyed = ['client_secret: s3cr3t', 'client_auth: private_key_jwt, client_key: "${file:key}"'] as const;
  const files = { key: pem(p256.privateKey) };
  const exchange = (members: string): readonly [string, string] => [
    '127.0.0.1:3000\n',
    `127.0.0.1:3000\n      token: exchange\n      exchange: { ${members} }\n`,
  ];
  const at = 'routes[0].upstream.exchange';

  test('is by default the client of introspection, with its key', async () => {
    const { routes } = await loaded({ yaml: edited(keyed, exchange('')), files });
    expect(routes[0] && upstreamToken.of(routes[0])).toMatchObject({
      exchange: { credentials: { clientId: 'gateway', clientAuth: 'private_key_jwt', algorithm: 'ES256' } },
    });
  });

  test('may be another one, with its own key', async () => {
    const members = 'client_id: other, client_auth: private_key_jwt, client_key: "${file:key}"';
    const { routes } = await loaded({ yaml: edited(exchange(members)), files });
    expect(routes[0] && upstreamToken.of(routes[0])).toMatchObject({
      exchange: { credentials: { clientId: 'other', clientAuth: 'private_key_jwt' } },
    });
  });

  test.each(
    casesOf(`
client_auth: private_key_jwt, client_key: "\${file:key}" → missing key: client_id
client_id: x, client_auth: private_key_jwt → missing key: client_key (client_auth is private_key_jwt)
`),
  )('refuses %s', async (members, lines) => {
    expect(await refusals({ yaml: edited(exchange(members)), files })).toEqual(
      lines.map((line) => `gateway.yaml:14:17: ${at}: ${line}`),
    );
  });

  test('does not take the key of introspection for a secret', async () => {
    const lines = await refusals({ yaml: edited(keyed, exchange('client_auth: client_secret_post')), files });
    expect(lines).toEqual([`gateway.yaml:14:17: ${at}: missing key: client_secret`]);
  });
});
