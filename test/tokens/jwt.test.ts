import { createHash, createHmac, createPublicKey, generateKeyPairSync, KeyObject, sign } from 'node:crypto';
import { exportJWK, SignJWT } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { createJwtVerifier } from '../../src/tokens/jwt.ts';
import { createKey, type IssuerKey } from '../support/issuer.ts';
import { serverOf } from '../support/server.ts';
import { issuer, KeyWorld } from '../worlds/keys.ts';

// Made once, however often the tests are run: RSA keys take long.
const [k1, k2, ...others] = await Promise.all([
  createKey('k1'),
  createKey('k2'),
  ...['RS512', 'ES256', 'EdDSA'].map((alg) => createKey(`key-${alg}`, alg)),
]);
const weak = [1024, 2047].map((modulusLength) => generateKeyPairSync('rsa', { modulusLength }));

let world: KeyWorld;
function publish(...keys: readonly object[]): void {
  world = new KeyWorld();
  world.publish(keys);
}
beforeEach(() => publish(k1.publicJwk));

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = { iss: issuer, sub: 'admin', scope: 'read', exp: 1_800_000_300 };

const verify = async (token: string): Promise<unknown> =>
  createJwtVerifier(serverOf({ url: issuer }), world.keys, new Map(), () => world.now)(token);

const good = ({ alg, kid, privateKey }: IssuerKey = k1): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg, kid, typ: 'at+jwt' }).sign(privateKey);

/** A token with any header, signed by anything. */
function forged(header: object, signature: (input: string) => string): string {
  const input = `${base64url({ typ: 'at+jwt', ...header })}.${base64url(claims)}`;
  return `${input}.${signature(input)}`;
}

const rs256 =
  (key: KeyObject) =>
  (input: string): string =>
    sign('sha256', Buffer.from(input), key).toString('base64url');

// jwt-form.test.ts and principal.test.ts have what a token says; here are its signature and keys.
describe('RFC 8725 §3 — algorithms and keys', () => {
  /** The parameters by which a token may say which key is good for it, and those that change how it is read. */
  const choices = (): readonly object[] => {
    const url = `${issuer}/mine`;
    return [
      {},
      ...['k1', 'unknown', '../../../dev/null', "' OR 1=1 --", url, '__proto__'].map((kid) => ({ kid })),
      { jwk: k2.publicJwk },
      { jwk: k2.publicJwk, kid: 'k1' },
      { jku: url },
      { x5u: url },
      { jku: url, kid: 'k1' },
      { x5c: [Buffer.from('certificate').toString('base64')] },
      { x5t: 'x' },
      { 'x5t#S256': 'x' },
      { crit: ['exp'], exp: 1 },
      { crit: ['b64'], b64: false },
      { crit: [] },
      { crit: 'b64' },
      { zip: 'DEF' },
      { cty: 'JWT' },
      { enc: 'A128GCM' },
      { iss: 'x', aud: 'y' },
    ];
  };
  const anyRefusal = { reason: expect.stringMatching(/^token\./) as string };
  const expectRefused = (token: string): Promise<void> => expect(verify(token)).rejects.toMatchObject(anyRefusal);

  test.each([['none'], ['None'], ['NONE'], ['nOnE'], [''], [' none'], ['none '], [null], [undefined], [0], [[]]])(
    'no token without a signature, with any choice of a key: alg %j',
    async (alg) => {
      for (const choice of choices()) {
        for (const signature of ['', 'AA'])
          await expect(verify(forged({ alg, ...choice }, () => signature))).rejects.toMatchObject(anyRefusal);
      }
      await expect(verify(forged({ alg: ['RS256'] }, () => ''))).rejects.toMatchObject(anyRefusal);
    },
  );

  test.each(['HS256', 'HS384', 'HS512'])('no token by %s with a published value as its secret', async (alg) => {
    const jwk = k1.publicJwk;
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const pem = String(key.export({ type: 'spki', format: 'pem' }));
    const der = [key.export({ type: 'spki', format: 'der' }), key.export({ type: 'pkcs1', format: 'pem' })];
    const values = [JSON.stringify(jwk), String(jwk.n), Buffer.from(String(jwk.n), 'base64url'), 'k1', ''];
    for (const secret of [pem, pem.trim(), ...der, ...values]) {
      for (const header of [{ alg, kid: 'k1' }, { alg }]) {
        const hmac = (input: string): string =>
          createHmac(`sha${alg.slice(2)}`, secret)
            .update(input)
            .digest('base64url');
        await expect(verify(forged(header, hmac))).rejects.toMatchObject(anyRefusal);
      }
    }
  });

  test('no token by another key, whatever its header says', async () => {
    const signed = (header: object): string =>
      forged({ alg: 'RS256', ...header }, rs256(KeyObject.from(k2.privateKey)));
    for (const choice of choices()) await expectRefused(signed(choice));
    for (const alg of ['RS384', 'RS512', 'PS256', 'ES256', 'EdDSA', 'rs256', 'RS256 ', 'RSA-OAEP', 'dir', 'A128KW']) {
      for (const choice of [{ kid: 'k1' }, { jwk: k2.publicJwk }]) await expectRefused(signed({ ...choice, alg }));
    }
    await expectRefused(signed({ kid: 'k1', alg: 'constructor' }));
    expect(world.asked).toEqual([`jwks ${issuer}/jwks?key=secret`]);
  });

  test('no valid token with another part or another spelling', async () => {
    const token = await good();
    const [header = '', payload = '', signature = ''] = token.split('.');
    for (const other of [
      `${base64url({ alg: 'RS256', kid: 'k1', typ: 'JWT' })}.${payload}.${signature}`,
      `${header}.${payload}.${'A'.repeat(signature.length)}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}..${signature}`,
      `.${payload}.${signature}`,
      `${token}.${signature}`,
      `${token}=`,
      `${token}==`,
      `${token}${'='.repeat(1000)}`,
      `${token}.${header}.${payload}`,
      `${'A'.repeat(10_000)}.${payload}.${signature}`,
      `${header}.${payload}.${signature.replaceAll('-', '+').replaceAll('_', '/')}=`,
    ]) {
      await expectRefused(other);
    }
    await expect(verify(token)).resolves.toBeDefined();
  });

  test('no token while a private key is published by mistake', async () => {
    publish({ ...(await exportJWK(k1.privateKey)), kid: 'k1', alg: 'RS256' });
    await expect(verify(await good())).rejects.toBeDefined();
  });

  const pss = KeyObject.from(k1.privateKey).toCryptoKey({ name: 'RSA-PSS', hash: 'SHA-256' }, true, ['sign']);
  const byOthers = [{ ...k1, alg: 'PS256', privateKey: pss }, ...others];
  test.each(byOthers)('another algorithm than the configured one, even by a published key: $alg', async (key) => {
    publish(k1.publicJwk, key.publicJwk);
    await expect(verify(await good(key))).rejects.toMatchObject({ reason: 'token.algorithm' });
  });

  // RFC 7518 §3.3 and §3.5: RSA keys have at least 2048 bits. A server that publishes others is no fault of the gateway.
  test.each(weak)(
    'a token by an RSA key that is too short is refused, whatever other keys are published',
    async (key) => {
      const published = { ...key.publicKey.export({ format: 'jwk' }), use: 'sig' };
      const signed = forged({ alg: 'RS256', kid: 'weak' }, rs256(key.privateKey));
      for (const keys of [[{ ...published, kid: 'weak' }], [published, { ...k1.publicJwk, kid: undefined }]]) {
        publish(...keys);
        await expect(verify(signed)).rejects.toMatchObject({ reason: 'token.key' });
      }
      // With several keys that fit, and no `kid` that names one.
      publish(published, k1.publicJwk);
      const unnamed = forged({ alg: 'RS256' }, rs256(key.privateKey));
      await expect(verify(unnamed)).rejects.toMatchObject({ reason: 'token.signature' });
    },
  );

  test('a key with exponent 1, for which a signature is its own message', async () => {
    const hash = (input: string): Buffer => createHash('sha256').update(input).digest();
    const prefix = Buffer.from('3031300d060960864801650304020105000420', 'hex');
    const signature = (input: string): string =>
      Buffer.concat([Buffer.from([0, 1]), Buffer.alloc(202, 0xff), Buffer.from([0]), prefix, hash(input)]).toString(
        'base64url',
      );
    const token = forged({ alg: 'RS256', kid: 'k1' }, signature);
    publish({ ...k1.publicJwk, e: 'AQ' });
    await expect(verify(token)).rejects.toMatchObject({
      reason: 'token.key',
      detail: 'the published key for kid "k1" and alg "RS256" has the exponent 1, an odd one of at least 3 is required',
    });
  });

  test.each([
    ['no modulus', { n: undefined }, 'token.key'],
    ['a modulus that is no base64url', { n: '*' }, 'token.key'],
    ['an empty exponent', { e: '' }, 'token.key'],
  ])('a published key with %s is no error of the gateway', async (_, change, reason) => {
    publish({ ...k1.publicJwk, ...change });
    await expect(verify(await good())).rejects.toMatchObject({ reason });
  });

  describe('a new key under the kid of the old one', () => {
    const renewed = { ...k2, kid: 'k1', publicJwk: { ...k2.publicJwk, kid: 'k1' } };

    test('verifies its tokens after one fetch for all that came meanwhile', async () => {
      await verify(await good());
      world.publish([renewed.publicJwk]);
      world.now += 5_000;
      const token = await good(renewed);
      await Promise.all([verify(token), verify(token), verify(token)]);
      await verify(token);
      expect(world.asked).toHaveLength(2);
      await expect(verify(await good())).rejects.toMatchObject({ reason: 'token.signature' });
    });

    test('is fetched at most once in five seconds, whatever signatures are made up', async () => {
      await verify(await good());
      world.publish([renewed.publicJwk]);
      world.now += 4_999;
      await expect(verify(await good(renewed))).rejects.toMatchObject({ reason: 'token.signature' });
      expect(world.asked).toHaveLength(1);
      world.now += 1;
      const forger = { ...k2, kid: 'k1' };
      publish(k1.publicJwk);
      await verify(await good());
      for (const [ms, fetches] of [
        [5_000, 2],
        [4_999, 2],
        [1, 3],
      ] as const) {
        world.now += ms;
        await expect(verify(await good(forger))).rejects.toMatchObject({ reason: 'token.signature' });
        expect(world.asked).toHaveLength(fetches);
      }
    });

    test('is not found while the server is away: the signature stays wrong', async () => {
      await verify(await good());
      world.goAway();
      world.now += 5_000;
      await expect(verify(await good(renewed))).rejects.toMatchObject({ reason: 'token.signature' });
    });
  });

  test('an unknown crit', async () => {
    const token = forged({ alg: 'RS256', kid: 'k1', crit: ['x'], x: 1 }, rs256(KeyObject.from(k1.privateKey)));
    await expect(verify(token)).rejects.toMatchObject({ reason: 'token.malformed' });
  });

  test.each<[string, (token: string) => string, reason: string]>([
    [
      'a payload exchanged',
      (token) => token.replace(/\.[^.]+\./, `.${base64url({ iss: 'x', exp: 9e9 })}.`),
      'token.signature',
    ],
    ['a signature of whole bytes, too few', (token) => token.slice(0, -2), 'token.signature'],
    ['a signature cut within a byte', (token) => token.slice(0, -1), 'token.malformed'],
  ])('%s', async (_, change, reason) => {
    await expect(verify(change(await good()))).rejects.toMatchObject({ reason });
  });

  test.each([
    ['for encryption', { use: 'enc' }],
    ['for a use that no standard has', { use: 'x' }],
    ['for a use without a name', { use: '' }],
    ['for another algorithm', { alg: 'RS512' }],
    ['for other operations', { key_ops: ['encrypt'] }],
  ])('a key published %s never verifies', async (_, change) => {
    publish({ ...k1.publicJwk, ...change });
    await expect(verify(await good())).rejects.toMatchObject({ reason: 'token.key' });
  });
});
