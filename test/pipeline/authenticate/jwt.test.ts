import { createHmac, createPublicKey, generateKeyPairSync, KeyObject, sign } from 'node:crypto';
import { exportJWK, FlattenedSign } from 'jose';
import { afterEach, describe, expect, test } from 'vitest';
import { createJwtVerifier } from '../../../src/pipeline/authenticate/jwt.ts';
import { KeySource } from '../../../src/pipeline/authenticate/keys.ts';
import { createServerClient } from '../../../src/authorization-server/client.ts';
import type { JwtValidation } from '../../../src/model/authorization-server.ts';
import { createKey, startIssuer, type IssuerKey } from '../../support/issuer.ts';
import { serverOf } from '../../support/server.ts';
import { startBeforeAll } from '../../support/start-before.ts';

// Made once, however often the tests are run: RSA keys take long.
const [k1, k2] = await Promise.all([createKey('k1'), createKey('k2')]);
const issuer = startBeforeAll(() => startIssuer(0, k1));
const client = startBeforeAll(() => createServerClient(serverOf(issuer), () => {}, Date.now));
afterEach(() => {
  issuer.keys = [k1.publicJwk];
});

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const now = (): number => Math.floor(Date.now() / 1000);

function verify(token: string, jwt: Partial<JwtValidation> = {}): Promise<unknown> {
  const server = serverOf(issuer, { jwt: { algorithms: ['RS256'], types: undefined, jwksUri: undefined, ...jwt } });
  return createJwtVerifier(server, new KeySource(client, Date.now).find, new Map(), Date.now)(token);
}

// keys.test.ts has their ages.
test('keys are fetched again as the Cache-Control of their server says', async () => {
  issuer.intercept = (request, response) => {
    if (request.url !== '/jwks') return false;
    response.writeHead(200, { 'cache-control': 'max-age=120' }).end(JSON.stringify({ keys: issuer.keys }));
    return true;
  };
  const fetches = (): number => issuer.requestsTo('/jwks').length;
  const before = fetches();
  let later = 0;
  const source = new KeySource(client, () => Date.now() + later);
  const verifier = createJwtVerifier(serverOf(issuer), source.find, new Map(), Date.now);
  const token = await issuer.sign({});
  for (const [passedMs, count] of [
    [0, 1],
    [90_000, 1],
    [130_000, 2],
  ] as const) {
    later = passedMs;
    await verifier(token);
    expect(fetches() - before).toBe(count);
  }
  issuer.intercept = undefined;
});

// jwt-form.test.ts and principal.test.ts have what a token says; here are its signature and keys.
describe('RFC 8725 §3 — algorithms and keys', () => {
  /** A token with any header, signed by anything. */
  function forged(header: object, signature: (input: string) => string): string {
    const claims = { iss: issuer.url, sub: 'admin', scope: 'read', exp: now() + 300 };
    const input = `${base64url({ typ: 'at+jwt', ...header })}.${base64url(claims)}`;
    return `${input}.${signature(input)}`;
  }

  /** The parameters by which a token may say which key is good for it, and those that change how it is read. */
  const choices = (): readonly object[] => {
    const url = `${issuer.url}/mine`;
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
    const jwk = issuer.key.publicJwk;
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
    const key = KeyObject.from(k2.privateKey);
    const signed = (header: object): string =>
      forged({ alg: 'RS256', ...header }, (input) => sign('sha256', Buffer.from(input), key).toString('base64url'));
    for (const choice of choices()) await expectRefused(signed(choice));
    for (const alg of ['RS384', 'RS512', 'PS256', 'ES256', 'EdDSA', 'rs256', 'RS256 ', 'RSA-OAEP', 'dir', 'A128KW']) {
      for (const choice of [{ kid: 'k1' }, { jwk: k2.publicJwk }]) await expectRefused(signed({ ...choice, alg }));
    }
    await expectRefused(signed({ kid: 'k1', alg: 'constructor' }));
    expect(issuer.requests.map(({ path }) => path)).not.toContain('/mine');
  });

  test('no valid token with another part or another spelling', async () => {
    const good = await issuer.sign({});
    const [header = '', payload = '', signature = ''] = good.split('.');
    for (const token of [
      `${base64url({ alg: 'RS256', kid: 'k1', typ: 'JWT' })}.${payload}.${signature}`,
      `${header}.${payload}.${'A'.repeat(signature.length)}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}..${signature}`,
      `.${payload}.${signature}`,
      `${good}.${signature}`,
      `${good}=`,
      `${good}==`,
      `${good}${'='.repeat(1000)}`,
      `${good}.${header}.${payload}`,
      `${'A'.repeat(10_000)}.${payload}.${signature}`,
      `${header}.${payload}.${signature.replaceAll('-', '+').replaceAll('_', '/')}=`,
    ]) {
      await expectRefused(token);
    }
    await expect(verify(good)).resolves.toBeDefined();
  });

  test('no token while a private key is published by mistake', async () => {
    issuer.keys = [{ ...(await exportJWK(k1.privateKey)), kid: 'k1', alg: 'RS256' }];
    await expect(verify(await issuer.sign({}))).rejects.toBeDefined();
  });

  test('another algorithm than the configured one, by the same key', async () => {
    const privateKey = KeyObject.from(k1.privateKey).toCryptoKey({ name: 'RSA-PSS', hash: 'SHA-256' }, true, ['sign']);
    const other: IssuerKey = { ...k1, alg: 'PS256', privateKey };
    await expect(verify(await issuer.sign({}, { key: other }))).rejects.toMatchObject({ reason: 'token.algorithm' });
  });

  test.each(['RS512', 'ES256', 'EdDSA'])('another algorithm, even by a published key: %s', async (alg) => {
    const key = await createKey(`key-${alg}`, alg);
    issuer.keys = [...issuer.keys, key.publicJwk];
    await expect(verify(await issuer.sign({}, { key }))).rejects.toMatchObject({ reason: 'token.algorithm' });
  });

  // RFC 7518 §3.3 and §3.5: RSA keys have at least 2048 bits. A server that publishes others is no fault of the gateway.
  test.each([
    ['an RSA key of 1024 bits', () => generateKeyPairSync('rsa', { modulusLength: 1024 })],
    ['an RSA key of 2047 bits', () => generateKeyPairSync('rsa', { modulusLength: 2047 })],
  ])('a token by %s is refused, whatever other keys are published', async (_, generate) => {
    const { publicKey, privateKey } = generate();
    const published = { ...publicKey.export({ format: 'jwk' }), use: 'sig' };
    const signed = forged({ alg: 'RS256', kid: 'weak' }, (input) =>
      sign('sha256', Buffer.from(input), privateKey).toString('base64url'),
    );
    for (const keys of [[{ ...published, kid: 'weak' }], [published, { ...k1.publicJwk, kid: undefined }]]) {
      issuer.keys = keys as IssuerKey['publicJwk'][];
      await expect(verify(signed)).rejects.toMatchObject({ reason: 'token.key' });
    }
    // With several keys that fit, and no `kid` that names one.
    const unnamed = forged({ alg: 'RS256' }, (input) =>
      sign('sha256', Buffer.from(input), privateKey).toString('base64url'),
    );
    issuer.keys = [published, k1.publicJwk] as IssuerKey['publicJwk'][];
    await expect(verify(unnamed)).rejects.toMatchObject({ reason: 'token.signature' });
  });

  test.each([
    ['no modulus', { n: undefined }, 'token.key'],
    ['a modulus that is no base64url', { n: '*' }, 'token.key'],
    ['an empty exponent', { e: '' }, 'token.signature'],
  ])('a published key with %s is no error of the gateway', async (_, change, reason) => {
    issuer.keys = [{ ...k1.publicJwk, ...change } as IssuerKey['publicJwk']];
    await expect(verify(await issuer.sign({}))).rejects.toMatchObject({ reason });
  });

  test.each([
    ['an unknown crit', (token: string) => token, { crit: ['x'], x: 1 }, 'token.malformed'],
    [
      'a payload exchanged',
      (token: string) => token.replace(/\.[^.]+\./, `.${base64url({ iss: 'x', exp: 9e9 })}.`),
      {},
      'token.signature',
    ],
    ['a signature of whole bytes, too few', (token: string) => token.slice(0, -2), {}, 'token.signature'],
    ['a signature cut within a byte', (token: string) => token.slice(0, -1), {}, 'token.malformed'],
  ])('%s', async (_, change, header, reason) => {
    const token = 'crit' in header ? await signWithCrit(header) : await issuer.sign({}, { header });
    await expect(verify(change(token))).rejects.toMatchObject({ reason });
  });

  test.each([
    ['for encryption', { use: 'enc' }],
    ['for a use that no standard has', { use: 'x' }],
    ['for a use without a name', { use: '' }],
    ['for another algorithm', { alg: 'RS512' }],
    ['for other operations', { key_ops: ['encrypt'] }],
  ])('a key published %s never verifies', async (_, change) => {
    issuer.keys = [{ ...k1.publicJwk, ...change }];
    await expect(verify(await issuer.sign({}))).rejects.toMatchObject({ reason: 'token.key' });
  });
});

async function signWithCrit(header: Record<string, unknown>): Promise<string> {
  const payload = new TextEncoder().encode(JSON.stringify({ iss: issuer.url, exp: now() + 60 }));
  const jws = await new FlattenedSign(payload)
    .setProtectedHeader({ alg: 'RS256', kid: 'k1', typ: 'at+jwt', ...header })
    .sign(issuer.key.privateKey, { crit: { x: true } });
  return `${jws.protected}.${jws.payload}.${jws.signature}`;
}
