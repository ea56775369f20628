import { generateKeyPairSync, sign } from 'node:crypto';
import * as fc from 'fast-check';
import { calculateJwkThumbprint, exportJWK, type JWK } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { createProver, type OtherProof, type Prover } from '../../support/prover.ts';
import { Nonces } from '../../../src/capabilities/possession/nonces.ts';
import { createIsTarget, createProofChecks } from '../../../src/capabilities/possession/proof-check.ts';
import type { CheckProof } from '../../../src/core/model/on-route.ts';
import { noFields } from '../../../src/core/gateway/listen/call.ts';
import type { Call } from '../../../src/core/model/call.ts';
import type { AccessToken } from '../../../src/core/model/grant.ts';
import type { Dpop } from '../../../src/capabilities/possession/settings.ts';
import { canonicalTarget } from '../../../src/core/gateway/route/router.ts';
import { property } from '../../support/property.ts';
import { words } from '../../support/words.ts';

const publicUrl = 'https://gateway.example';
const now = 1_800_000_000_000;
const clock = (): number => now;
const token = 't' as AccessToken;
const [client, other] = await Promise.all([createProver('ES256', clock), createProver('ES256', clock)]);
const nonces = new Nonces('key', clock);
const dpop: Dpop = { required: false, nonce: false, algorithms: ['ES256', 'RS256', 'PS256'], proofLifetimeMs: 300_000 };

/** What the memory was asked, by whom; it has seen none of it before, unless it is told so. */
let asked: { readonly use: string; readonly expiresAt: number; readonly owner: string }[];
let isSeen: boolean;
let check: CheckProof;

beforeEach(() => {
  asked = [];
  isSeen = false;
  check = checkOf(dpop);
});

function checkOf(of: Dpop): CheckProof {
  const firstSeen = (use: string, expiresAt: number, owner: string): boolean => {
    asked.push({ use, expiresAt, owner });
    return !isSeen;
  };
  return createProofChecks({ publicUrl, nonces, replays: { firstSeen }, clock })(of);
}

function call(proof: string | undefined): Call {
  return { method: 'GET', path: '/mcp', fields: { ...noFields, dpop: proof } } as unknown as Call;
}

const proofOf = (by: Prover, otherwise?: OtherProof): Promise<string> =>
  by.proof({ url: `${publicUrl}/mcp`, token }, otherwise);

/** Shows a proof by `by`, with a token that is bound to the client's key. */
async function show(otherwise?: OtherProof, by: Prover = client): Promise<void> {
  await check(call(await proofOf(by, otherwise)), token, client.cnf.jkt, 'alice');
}

const refused = (reason: string): Error => expect.objectContaining({ reason }) as Error;
const seconds = now / 1000;

test('RFC 9449 §4.3 — accepts a proof for this request, token and key', async () => {
  await expect(show()).resolves.toBeUndefined();
});

test('RFC 9449 §4.3 — 10: ignores a nonce that the route does not require', async () => {
  await expect(show({ claims: { nonce: 'of another route' } })).resolves.toBeUndefined();
});

// RSA keys take long: one test below has PS256 and RS256.
test.for(words('ES256 ES384 ES512 EdDSA Ed25519 PS512 RS384'))(
  'RFC 9449 §4.3 — 5: accepts alg %s, which is asymmetric and secure',
  async (alg) => {
    const by = await createProver(alg, clock);
    check = checkOf({ ...dpop, algorithms: [alg] });
    await expect(check(call(await proofOf(by)), token, by.cnf.jkt, 'alice')).resolves.toBeUndefined();
  },
);

test('RFC 9449 §4.3 — 6: refuses the signature of other claims', async () => {
  const [header, , signature] = (await proofOf(client)).split('.');
  const [, claims] = (await proofOf(client)).split('.');
  const forged = call(`${header}.${claims}.${signature}`);
  const cause = expect.any(Error) as unknown;
  const mismatch = { reason: 'proof.invalid', cause };
  await expect(check(forged, token, client.cnf.jkt, 'alice')).rejects.toMatchObject(mismatch);
});

test.for<[string, OtherProof]>([
  ...['POST', 'HEAD', 'get', ''].map((htm): [string, OtherProof] => [`8: of method "${htm}"`, { claims: { htm } }]),
  ['9: of another path', { claims: { htu: `${publicUrl}/other` } }],
  ['9: of another gateway', { claims: { htu: 'https://evil.example/mcp' } }],
  ['11: made more than five minutes ago', { claims: { iat: seconds - 300.001 } }],
  ['11: made more than five minutes ahead', { claims: { iat: seconds + 300.001 } }],
  ['11: made at the end of time', { claims: { iat: 1e300 } }],
  ['11: made decades ago', { claims: { iat: seconds - 1e9 } }],
  ['12: of another token', { claims: { ath: 'x'.repeat(43) } }],
  ['12: of no token', { claims: { ath: undefined } }],
  ['6: signed with another key', { key: other.privateKey }],
])('RFC 9449 §4.3 — refuses a proof: %s', async ([, otherwise]) => {
  await expect(show(otherwise)).rejects.toThrow(refused('proof.invalid'));
  expect(asked).toEqual([]);
});

test.for([seconds - 300, seconds + 300])('RFC 9449 §4.3, SEP-1932 — 11: accepts an iat of %d', async (iat) => {
  await expect(show({ claims: { iat } })).resolves.toBeUndefined();
});

test('RFC 9449 §4.3 — 12: refuses a proof by another key than that of the token', async () => {
  await expect(show({}, other)).rejects.toThrow(refused('token.binding'));
  // Before its signature: a caller without a bound token causes no computation.
  await expect(show({ key: client.privateKey }, other)).rejects.toThrow(refused('token.binding'));
  expect(asked).toEqual([]);
});

describe('RFC 9449 §4.3 — 10: the nonce, if the route requires one', () => {
  beforeEach(() => {
    check = checkOf({ ...dpop, nonce: true });
  });

  test('is accepted if it is a recent one of the gateway', async () => {
    await expect(show({ claims: { nonce: nonces.current() } })).resolves.toBeUndefined();
  });

  test.for([undefined, 5, '', 'x', 'AAAAAAAAAAAAAAAAAAAAAA'])('is refused if it is %j', async (nonce) => {
    await expect(show({ claims: { nonce } })).rejects.toThrow(refused('proof.nonce'));
    expect(asked).toEqual([]);
  });

  test('is refused with a detail that says whether the proof had one', async () => {
    await expect(show()).rejects.toMatchObject({ detail: 'the proof has no nonce' });
    await expect(show({ claims: { nonce: 'x' } })).rejects.toThrow('the nonce is not a recent one of the gateway');
  });
});

describe('RFC 9449 §11.1 — a jti', () => {
  test('that was used is refused', async () => {
    isSeen = true;
    await expect(show()).rejects.toThrow(refused('proof.replayed'));
  });

  test('counts for its key and its target, for any owner', async () => {
    const jti = 'one';
    await show({ claims: { jti } });
    await show({ claims: { jti } });
    await show({ claims: { jti: 'two' } });
    await show({ claims: { jti, htu: `${publicUrl}/mcp?q` } });
    await check(call(await proofOf(other, { claims: { jti } })), token, other.cnf.jkt, 'bob');
    const [first, again, ...others] = asked.map(({ use }) => use);
    expect(again).toBe(first);
    expect(new Set([first, ...others]).size).toBe(4);
    expect(asked.map(({ owner }) => owner)).toEqual(['alice', 'alice', 'alice', 'alice', 'bob']);
  });

  test('is remembered until the proof is too old for every replica', async () => {
    await show({ claims: { iat: seconds - 5, jti: 'of the client' } });
    expect(asked).toEqual([
      { use: expect.stringMatching(/^[\w-]{43}$/) as string, expiresAt: now + 305_000, owner: 'alice' },
    ]);
  });

  test('is remembered for ten minutes if the clock of the client is five minutes ahead', async () => {
    await show({ claims: { iat: seconds + 300 } });
    expect(asked.map(({ expiresAt }) => expiresAt)).toEqual([now + 610_000]);
  });
});

describe('a key', () => {
  /** A proof by any RSA key, as `alg`, with the key written as `jwk`. */
  async function showRsa(alg: string, bits: number, pad = 0): Promise<void> {
    const { publicKey, privateKey } = rsa(bits);
    const exported = await exportJWK(publicKey);
    const jwk = { ...exported, n: padded(exported, pad) };
    await showSigned(jwk, alg, (input) => sign('sha256', Buffer.from(input), privateKey));
  }

  async function showSigned(jwk: JWK, alg: string, signature: (input: string) => Buffer): Promise<void> {
    const [, claims] = (await proofOf(client)).split('.');
    const header = Buffer.from(JSON.stringify({ typ: 'dpop+jwt', alg, jwk })).toString('base64url');
    const input = `${header}.${claims}`;
    const proof = `${input}.${signature(input).toString('base64url')}`;
    await check(call(proof), token, await calculateJwkThumbprint(jwk, 'sha256'), 'alice');
  }

  test('RFC 7518 §3.3 — has at least 2048 bits, leading zeros not counted', async () => {
    await expect(showRsa('RS256', 2048)).resolves.toBeUndefined();
    await expect(showRsa('RS256', 1024)).rejects.toThrow(refused('proof.invalid'));
    await expect(showRsa('RS256', 1024, 128)).rejects.toThrow('jwk has only 1024 bits');
  });

  test('is cached by its thumbprint: no proof is checked with another key', async () => {
    for (const by of [client, other, client]) {
      await expect(check(call(await proofOf(by)), token, by.cnf.jkt, 'x')).resolves.toBeUndefined();
    }
  });

  test('is imported once', async () => {
    const { subtle } = globalThis.crypto;
    const importKey = subtle.importKey.bind(subtle) as (...given: readonly unknown[]) => unknown;
    let imports = 0;
    const value = (...given: readonly unknown[]): unknown => {
      imports += 1;
      return importKey(...given);
    };
    Object.defineProperty(subtle, 'importKey', { value, configurable: true });
    try {
      for (const by of [client, other, client, other]) await check(call(await proofOf(by)), token, by.cnf.jkt, 'x');
    } finally {
      Reflect.deleteProperty(subtle, 'importKey');
    }
    expect(imports).toBe(2);
  });

  test('verifies only signatures of its algorithm', async () => {
    const { publicKey, privateKey } = rsa(2048);
    const jwk = await exportJWK(publicKey);
    const pkcs1 = (input: string): Buffer => sign('sha256', Buffer.from(input), privateKey);
    const pss = (input: string): Buffer =>
      sign('sha256', Buffer.from(input), { key: privateKey, padding: 6, saltLength: 32 });
    await expect(showSigned(jwk, 'RS256', pkcs1)).resolves.toBeUndefined();
    await expect(showSigned(jwk, 'PS256', pss)).resolves.toBeUndefined();
    await expect(showSigned(jwk, 'PS256', pkcs1)).rejects.toThrow(refused('proof.invalid'));
    await expect(showSigned(jwk, 'RS256', pss)).rejects.toThrow(refused('proof.invalid'));
  });

  test('is refused with a cause for the operator if it cannot be imported', async () => {
    const jwk = { ...client.jwk, y: client.jwk.x ?? '' };
    await expect(showSigned(jwk, 'ES256', () => Buffer.alloc(64))).rejects.toMatchObject({
      reason: 'proof.invalid',
      cause: expect.any(Error) as unknown,
    });
  });
});

const made = new Map<number, ReturnType<typeof generateKeyPairSync>>();

/** Made once: it takes long. */
function rsa(modulusLength: number): ReturnType<typeof generateKeyPairSync> {
  const keys = made.get(modulusLength) ?? generateKeyPairSync('rsa', { modulusLength });
  made.set(modulusLength, keys);
  return keys;
}

/** The same number behind octets of nothing. */
function padded({ n = '' }: JWK, octets: number): string {
  return Buffer.concat([Buffer.alloc(octets), Buffer.from(n, 'base64url')]).toString('base64url');
}

const isTarget = createIsTarget('https://gateway.example');

type Target = [htu: string, path: string, expected: boolean];

test.each<Target>([
  ...words(`
    https://gateway.example/mcp https://gateway.example/mcp?q=1 https://gateway.example/mcp#f
    https://gateway.example/mcp?q=/../x HTTPS://GATEWAY.EXAMPLE:443/mcp https://gateway.example:/mcp
    https://gateway.example/./mcp https://gateway.example/a/%2e%2e/mcp https://gateway.example/a/../mcp
    https://gateway.example/%6dcp`).map((htu): Target => [htu, '/mcp', true]),
  ...words(`
    https://gateway.example/mcp/ https://gateway.example/mcp/x https://gateway.example /mcp
    https://gateway.example/MCP https://gateway.example//mcp http://gateway.example/mcp
    https://gateway.example:8443/mcp https://gateway.example.evil/mcp
    https://evil.example/https://gateway.example/mcp https://gateway.example@evil.example/mcp
    https://x@gateway.example/mcp https://:x@gateway.example/mcp https:/gateway.example/mcp
    https:gateway.example/mcp https://[/mcp https:///gateway.example/mcp //gateway.example/mcp
    wss://gateway.example/mcp`).map((htu): Target => [htu, '/mcp', false]),
  ['https:\\\\gateway.example\\mcp', '/mcp', false],
  ['https://gateway.example\\mcp', '/mcp', false],
  [' https://gateway.example/mcp', '/mcp', false],
  ['https://gate\nway.example/mcp', '/mcp', false],
  ['https://gateway.example/m\tcp', '/mcp', false],
  ['https://gateway.example/%c3%a9', '/%C3%A9', true],
  ['https://gateway.example/%C3%A9', '/%c3%a9', true],
  ['https://gateway.example', '/', true],
  ['https://gateway.example/', '/', true],
  ['https://gateway.example/mcp', '/mcp/', false],
  ['https://gateway.example/a%2Fb', '/a/b', false],
  ['https:/gateway.example/https://x', '/https://x', false],
  ['https://gateway.example/mc\u{131}', '/mc%C4%B1', false],
  ['', '/', false],
  // A path in letters that no URI has is known by its own spelling alone.
  ['https://gateway.example/a|b', '/a|b', true],
  ['https://gateway.example/a|c', '/a|b', false],
  ['', '/a|b', false],
])('%j for %s: %s', (htu, path, expected) => {
  expect(isTarget(htu, path)).toBe(expected);
});

test('the scheme and port of the public URL count', () => {
  const isOurs = createIsTarget('http://gateway.example:8080');
  expect(isOurs('HTTP://gateway.example:8080/mcp?q', '/mcp')).toBe(true);
  expect(isOurs('https://gateway.example:8080/mcp?q', '/mcp')).toBe(false);
  expect(isOurs('http://gateway.example/mcp?q', '/mcp')).toBe(false);
});

/** A path as the gateway lets it through. */
const canonicalPath = fc.webPath().filter((path) => {
  try {
    return canonicalTarget(path).query === '';
  } catch {
    return false;
  }
});

property(
  'any path that a client normalizes with `new URL` matches',
  [canonicalPath, fc.webQueryParameters()],
  (path, query) => {
    const { href } = new URL(`${path}?${query}`, 'https://gateway.example');
    expect(isTarget(href, path)).toBe(true);
  },
);

property('no other path matches', [canonicalPath, canonicalPath], (path, other) => {
  fc.pre(decodeURIComponent(path) !== decodeURIComponent(other));
  expect(isTarget(`https://gateway.example${other}`, path)).toBe(false);
});

property('no other string matches, and none throws', [fc.string({ unit: 'binary' })], (htu) => {
  expect(isTarget(htu, '/mcp')).toBe(false);
});
