import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateSecret, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProver } from '../support/prover.ts';
import { startDpopWorld, type DpopWorld } from '../worlds/dpop.ts';
import { publicUrl } from '../worlds/gateway.ts';

let world: DpopWorld;
let token: string;
beforeAll(async () => {
  world = await startDpopWorld();
  token = await world.bound({ exp: Math.floor(Date.now() / 1000) + 36_000 });
});
afterAll(() => world.close());

const api = `${publicUrl}/api`;
const now = (): number => Math.floor(Date.now() / 1000);
/** Whether a proof with this in it is good for the API. */
async function verdict(claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<unknown> {
  const { status } = await world.prove('/api', token, { claims, header });
  return status === 200 ? 200 : world.reason();
}

test.for(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'])(
  'R-64, RFC 9449 §4.3: accepts alg %s, which is asymmetric and secure',
  async (alg) => {
    const by = await createProver(alg);
    const bound = await world.bound({ cnf: by.cnf });
    expect((await world.prove('/api', bound, { by })).status).toBe(200);
    const { status } = await world.prove('/narrow', bound, { by });
    expect(status, 'where ES384 alone is accepted').toBe(alg === 'ES384' ? 200 : 401);
  },
);

describe('the twelve checks', () => {
  test('R-64, RFC 9449 §4.3: check 1: refuses more than one DPoP field', async () => {
    const [one, two] = [await world.client.proof({ url: api, token }), await world.client.proof({ url: api, token })];
    const raw = await world.sendRaw(
      'GET /api HTTP/1.1',
      'Host: gateway.test',
      `Authorization: DPoP ${token}`,
      `DPoP: ${one}`,
      `dpop: ${two}`,
    );
    expect(raw).toMatch(/^HTTP\/1\.1 400 /);
    expect((await world.show('/api', token, `${one}, ${two}`)).status, 'nor two in one').toBe(401);
    expect((await world.show('/api', token)).status, 'nor none').toBe(401);
    expect(await world.reason()).toBe('proof.missing');
  });

  test.for(['x', 'a.b', 'a.b.c', 'a.b.c.d.e', '..', `${'a'.repeat(9000)}.b.c`])(
    'R-64, RFC 9449 §4.3: check 2: refuses %s, which is no well-formed JWT',
    async (proof) => {
      expect((await world.show('/api', token, proof)).status).toBe(401);
      expect(await world.reason()).toBe('proof.invalid');
    },
  );

  test.for(['jti', 'htm', 'htu', 'iat', 'ath'])(
    'R-64, RFC 9449 §4.3: check 3: refuses a proof without %s',
    async (name) => {
      expect(await verdict({ [name]: undefined })).toBe('proof.invalid');
      expect(await verdict({ [name]: null })).toBe('proof.invalid');
      expect(await verdict({ [name]: {} })).toBe('proof.invalid');
      expect(await verdict({})).toBe(200);
    },
  );

  test.for([undefined, 'JWT', 'at+jwt', 'DPoP+jwt', ''])(
    'R-64, RFC 9449 §4.3: check 4: refuses typ %j',
    async (typ) => {
      expect(await verdict({}, { typ })).toBe('proof.invalid');
    },
  );

  test('R-64, RFC 9449 §4.3: check 4: refuses a critical header parameter', async () => {
    expect(await verdict({}, { crit: ['b64'], b64: true })).toBe('proof.invalid');
  });

  test('R-64, RFC 9449 §4.3: check 5: refuses alg none', async () => {
    const [, claims] = (await world.client.proof({ url: api, token })).split('.');
    const header = { typ: 'dpop+jwt', alg: 'none', jwk: world.client.jwk };
    const encoded = Buffer.from(JSON.stringify(header)).toString('base64url');
    for (const signature of ['', 'AA']) {
      expect((await world.show('/api', token, `${encoded}.${claims}.${signature}`)).status).toBe(401);
      expect(await world.reason()).toBe('proof.invalid');
    }
  });

  test('R-64, RFC 9449 §4.3: check 5: refuses a symmetric alg', async () => {
    const secret = await generateSecret('HS256', { extractable: true });
    const jwk = await exportJWK(secret);
    const claims = { jti: 'x', htm: 'GET', htu: api, iat: now(), ath: hash('sha256', token, 'base64url') };
    for (const embedded of [jwk, world.client.jwk]) {
      const proof = await new SignJWT(claims)
        .setProtectedHeader({ typ: 'dpop+jwt', alg: 'HS256', jwk: embedded })
        .sign(secret);
      expect((await world.show('/api', token, proof)).status).toBe(401);
      expect(await world.reason()).toBe('proof.invalid');
    }
  });

  test('R-64, RFC 9449 §4.3: check 6: refuses a signature of another key', async () => {
    const other = await createProver();
    expect((await world.prove('/api', token, { key: other.privateKey })).status).toBe(401);
    expect(await world.reason()).toBe('proof.invalid');
    const proof = await world.client.proof({ url: api, token });
    const [header, , signature] = proof.split('.');
    const [, claims] = (await world.client.proof({ url: api, token })).split('.');
    expect((await world.show('/api', token, `${header}.${claims}.${signature}`)).status, 'of other claims').toBe(401);
    expect((await world.show('/api', token, proof)).status).toBe(200);
  });

  test('R-64, RFC 9449 §4.3: check 6: refuses a short RSA key', async () => {
    for (const [bits, pad, status] of [
      [2048, 0, 200],
      [1024, 0, 401],
      // The same number, written as long as one that is long enough.
      [1024, 128, 401],
    ] as const) {
      const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: bits });
      const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
      const padded = Buffer.concat([Buffer.alloc(pad), Buffer.from(n, 'base64url')]).toString('base64url');
      const jwk = { kty: 'RSA', n: padded, e };
      const bound = await world.bound({ cnf: { jkt: await calculateJwkThumbprint(jwk, 'sha256') } });
      const claims = { jti: 'x', htm: 'GET', htu: api, iat: now(), ath: hash('sha256', bound, 'base64url') };
      const signed = [{ typ: 'dpop+jwt', alg: 'RS256', jwk }, claims]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.');
      const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url');
      const answer = await world.show('/api', bound, `${signed}.${signature}`);
      expect(answer.status, `${bits} bits and ${pad} octets of nothing`).toBe(status);
      expect(await world.reason()).toBe(status === 200 ? undefined : 'proof.invalid');
    }
  });

  test('R-64, RFC 9449 §4.3: check 7: refuses a private key in jwk', async () => {
    const jwk = await exportJWK(world.client.privateKey);
    expect(jwk).toHaveProperty('d');
    expect(await verdict({}, { jwk })).toBe('proof.invalid');
    expect(await verdict({}, { jwk: undefined })).toBe('proof.invalid');
  });

  test.for(['get', 'POST', 'HEAD', ''])('R-64, RFC 9449 §4.3: check 8: refuses htm %j for a GET', async (htm) => {
    expect(await verdict({ htm })).toBe('proof.invalid');
  });

  test.for([
    [api, 200],
    [`${api}?a=b`, 200],
    [`${api}#a`, 200],
    ['HTTP://Gateway.Test:80/api', 200],
    ['http://gateway.test/%61pi', 200],
    ['http://gateway.test/x/../api', 200],
    [`${api}/`, 'proof.invalid'],
    [`${publicUrl}/API`, 'proof.invalid'],
    [`${publicUrl}/api/x`, 'proof.invalid'],
    [publicUrl, 'proof.invalid'],
    ['/api', 'proof.invalid'],
    ['https://gateway.test/api', 'proof.invalid'],
    ['http://gateway.test:8080/api', 'proof.invalid'],
    ['http://gateway.test.evil.example/api', 'proof.invalid'],
    ['http://user@gateway.test/api', 'proof.invalid'],
    ['http:\\\\gateway.test\\api', 'proof.invalid'],
    ['http://gateway.test/a\tpi', 'proof.invalid'],
    ['http:gateway.test/api', 'proof.invalid'],
    ['', 'proof.invalid'],
  ])('R-64, RFC 9449 §4.3: check 9: answers htu %j with %s', async ([htu, expected]) => {
    expect(await verdict({ htu })).toBe(expected);
  });

  test('R-64, RFC 9449 §4.3: check 9: expects no query in htu', async () => {
    expect((await world.prove('/api?a=b', token)).status).toBe(200);
  });

  test('R-64, RFC 9449 §4.3: check 9: compares htu with public_url, not with Host', async () => {
    const port = new URL(world.gateway.url).port;
    for (const [host, status] of [
      ['gateway.test', 200],
      [`127.0.0.1:${port}`, 401],
    ] as const) {
      const proof = await world.client.proof({ url: `http://${host}/api`, token });
      const raw = await world.sendRaw(
        'GET /api HTTP/1.1',
        `Host: ${host}`,
        `Authorization: DPoP ${token}`,
        `DPoP: ${proof}`,
      );
      expect(raw).toContain(`HTTP/1.1 ${status} `);
    }
  });

  test('R-64, RFC 9449 §4.3: check 10: ignores a nonce that it did not ask for', async () => {
    expect(await verdict({ nonce: 'of another route' })).toBe(200);
  });

  test.for([
    [0, 200],
    [-295, 200],
    [-301, 'proof.invalid'],
    [295, 200],
    [310, 'proof.invalid'],
    [-1e9, 'proof.invalid'],
    [1e300, 'proof.invalid'],
  ] as const)(
    'R-64, RFC 9449 §4.3: check 11: answers a proof made %d s from now with %s',
    async ([seconds, expected]) => {
      expect(await verdict({ iat: now() + seconds })).toBe(expected);
    },
  );

  test('R-64, RFC 9449 §4.3: check 11: takes the window from the configuration', async () => {
    const by = await createProver('ES384');
    const bound = await world.bound({ cnf: by.cnf });
    expect((await world.prove('/narrow', bound, { by, claims: { iat: now() - 3 } })).status).toBe(200);
    expect((await world.prove('/narrow', bound, { by, claims: { iat: now() - 6 } })).status).toBe(401);
    expect((await world.prove('/narrow', bound, { by, claims: { iat: now() + 15 } })).status).toBe(401);
  });

  test('R-64, RFC 9449 §4.3: check 12: refuses a proof for another token', async () => {
    const other = await world.bound({ jti: 'another' });
    expect(await verdict({ ath: hash('sha256', other, 'base64url') })).toBe('proof.invalid');
  });

  test('R-64, RFC 9449 §4.3: check 12: refuses a proof of another key', async () => {
    expect((await world.prove('/api', token, { by: await createProver() })).status).toBe(401);
    expect(await world.reason()).toBe('token.binding');
  });
});

describe('the replay of a proof', () => {
  test('R-71, RFC 9449 §11.1: accepts a jti once', async () => {
    const proof = await world.client.proof({ url: api, token });
    expect((await world.show('/api', token, proof)).status).toBe(200);
    const again = await world.show('/api', token, proof);
    expect(again.status).toBe(401);
    expect(again.challenge).toContain('DPoP error="invalid_dpop_proof"');
    expect(await world.reason()).toBe('proof.replayed');
    expect((await world.show('/api?x', token, proof)).status, 'whatever the query').toBe(401);
    expect((await world.prove('/api', token)).status, 'the next one').toBe(200);
  });

  test('R-71, RFC 9449 §11.1: refuses the same jti with another spelling of the request', async () => {
    const proof = await world.client.proof({ url: `${api}/%C3%A9`, token });
    expect((await world.show('/api/%C3%A9', token, proof)).status).toBe(200);
    expect((await world.show('/api/%c3%a9', token, proof)).status).toBe(401);
    expect(await world.reason()).toBe('proof.replayed');
  });

  test('R-71, RFC 9449 §11.1: accepts the same jti of another key', async () => {
    const by = await createProver();
    const bound = await world.bound({ cnf: by.cnf });
    expect((await world.prove('/api', token, { claims: { jti: 'the same' } })).status).toBe(200);
    expect((await world.prove('/api', bound, { by, claims: { jti: 'the same' } })).status).toBe(200);
    expect((await world.prove('/api', token, { claims: { jti: 'the same' } })).status).toBe(401);
  });

  test('R-71, RFC 9449 §11.1: does not remember a proof that it refused', async () => {
    const proof = await world.client.proof({ url: api, token });
    expect((await world.show('/api', token, proof, 'POST')).status).toBe(401);
    expect((await world.show('/api', token, proof)).status).toBe(200);
  });

  test('R-71, RFC 9449 §11.1: serves one of two simultaneous uses', async () => {
    const proof = await world.client.proof({ url: api, token });
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.show('/api', token, proof)));
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
  });

  test('R-71, RFC 9449 §11.1: remembers a jti for as long as the proof is valid', async () => {
    const proof = await world.client.proof({ url: api, token });
    expect((await world.show('/api', token, proof)).status).toBe(200);
    world.advance(298);
    expect((await world.show('/api', token, proof)).status).toBe(401);
    expect(await world.reason()).toBe('proof.replayed');
    world.advance(3);
    expect((await world.show('/api', token, proof)).status).toBe(401);
    expect(await world.reason(), 'it is too old by itself').toBe('proof.invalid');
    world.advance(-301);
  });

  test('R-71, RFC 9449 §11.1: remembers a proof from five minutes ahead for ten minutes', async () => {
    const proof = await world.client.proof({ url: api, token }, { claims: { iat: now() + 295 } });
    expect((await world.show('/api', token, proof)).status).toBe(200);
    world.advance(590);
    expect((await world.show('/api', token, proof)).status).toBe(401);
    expect(await world.reason()).toBe('proof.replayed');
    world.advance(-590);
  });

  test('R-71, RFC 9449 §11.1: bounds the length of a jti', async () => {
    expect(await verdict({ jti: 'x'.repeat(256) })).toBe(200);
    expect(await verdict({ jti: 'x'.repeat(257) })).toBe('proof.invalid');
    expect(await verdict({ jti: '' })).toBe('proof.invalid');
  });
});
