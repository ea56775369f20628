import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createProofChecks } from '../../src/capabilities/possession/proof-check.ts';
import { Nonces } from '../../src/capabilities/possession/nonces.ts';
import type { Dpop } from '../../src/capabilities/possession/settings.ts';
import { createPossession } from '../../src/tokens/possession.ts';
import { noFields } from '../../src/core/gateway/listen/call.ts';
import type { Call } from '../../src/core/model/call.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { Confirmation, Principal } from '../../src/core/model/principal.ts';
import { callerKey } from '../../src/core/model/caller-key.ts';
import { bearer, withProof } from '../support/bearer.ts';
import { createProver, type OtherProof, type Prover } from '../support/prover.ts';

const publicUrl = 'https://gateway.example';
const url = `${publicUrl}/mcp`;
const clock = Date.now;
const algorithms = ['ES256', 'RS256', 'EdDSA'];
const dpop: Dpop = { required: false, nonce: false, algorithms, proofLifetimeMs: 60_000 };

/** A possession check that remembers what was asked of the replay memory. */
function create(of: Dpop | undefined, remember = true) {
  const used: [string, number, string][] = [];
  const replays = {
    firstSeen(key: string, expiresAt: number, owner: string): boolean {
      used.push([key, expiresAt, owner]);
      if (!remember) throw new Denial('shared_store.unavailable', 'away');
      return true;
    },
  };
  const checks = createProofChecks({ publicUrl, nonces: new Nonces('key', clock), replays, clock });
  return { possession: createPossession({ proofs: of }, of && checks(of)), used };
}

const principalOf = (confirmation?: Partial<Confirmation>): Principal =>
  ({
    issuer: 'https://as.example',
    confirmation: confirmation && { jwkThumbprint: undefined, certificateThumbprint: undefined, ...confirmation },
  }) as Principal;
const call = (proof?: string, certificateThumbprint?: string): Call =>
  ({ method: 'GET', path: '/mcp', fields: { ...noFields, dpop: proof }, certificateThumbprint }) as unknown as Call;
const refused = (reason: string): Error => expect.objectContaining({ reason }) as Error;
const sent = (client: Prover, otherwise?: OtherProof) => client.proof({ url, token: 't' }, otherwise);

test('accepts a bearer token synchronously', () => {
  const principal = principalOf();
  for (const each of [undefined, dpop]) expect(create(each).possession(principal, bearer('t'), call())).toBe(principal);
});

test('accepts a token that is bound to the certificate of the connection synchronously', () => {
  const principal = principalOf({ certificateThumbprint: 'a' });
  expect(create(undefined).possession(principal, bearer('t'), call(undefined, 'a'))).toBe(principal);
});

test('RFC 9449 §7.1 — refuses DPoP with a token that is bound to no key', async () => {
  const client = await createProver();
  for (const principal of [principalOf(), principalOf({ certificateThumbprint: 'a' })]) {
    for (const proof of [undefined, await sent(client)]) {
      expect(() => create(dpop).possession(principal, withProof('t'), call(proof, 'a'))).toThrow(
        refused('token.unbound'),
      );
    }
  }
});

test('refuses a token that is bound to nothing where dpop.required is set', () => {
  const { possession } = create({ ...dpop, required: true });
  expect(() => possession(principalOf(), bearer('t'), call())).toThrow(refused('token.unbound'));
  const bound = principalOf({ certificateThumbprint: 'a' });
  expect(possession(bound, bearer('t'), call(undefined, 'a'))).toBe(bound);
});

test('RFC 8705 §3 — refuses another certificate or none, and tells the operator which', () => {
  const principal = principalOf({ certificateThumbprint: 'a' });
  const { possession } = create(undefined);
  for (const [certificate, why] of [
    [undefined, 'neither TLS nor a peer in certificate_proxies presented one'],
    ['b', 'a certificate other than that of the connection'],
  ] as const) {
    const attempt = (): unknown => possession(principal, bearer('t'), call(undefined, certificate));
    expect(attempt).toThrow(refused('token.binding'));
    expect(attempt).toThrow(why);
  }
});

test('RFC 9449 §7.2 — refuses a key where DPoP is not served', async () => {
  const client = await createProver();
  const { possession } = create(undefined);
  const principal = principalOf({ jwkThumbprint: client.cnf.jkt });
  for (const token of [bearer('t'), withProof('t')])
    expect(() => possession(principal, token, call())).toThrow(refused('token.sender_constrained'));
});

test('requires both proofs for a token that is bound to a key and a certificate', async () => {
  const client = await createProver();
  const { possession } = create(dpop);
  const principal = principalOf({ jwkThumbprint: client.cnf.jkt, certificateThumbprint: 'a' });
  const proof = await sent(client);
  await expect(possession(principal, withProof('t'), call(proof, 'a'))).resolves.toBe(principal);
  expect(() => possession(principal, withProof('t'), call(proof, 'b'))).toThrow(refused('token.binding'));
  expect(() => possession(principal, withProof('t'), call(proof))).toThrow(refused('token.binding'));
  expect(() => possession(principal, bearer('t'), call(undefined, 'a'))).toThrow(refused('token.sender_constrained'));
  await expect(possession(principal, withProof('t'), call(undefined, 'a'))).rejects.toThrow(refused('proof.missing'));
});

describe('the replay cache', () => {
  test('has one quota for each subject, whatever its keys and clients', async () => {
    const client = await createProver();
    const { possession, used } = create(dpop);
    const bound = principalOf({ jwkThumbprint: client.cnf.jkt });
    for (const who of [
      { issuer: 'i', subject: 'alice', clientId: 'a' },
      { issuer: 'i', subject: 'alice', clientId: 'b' },
      { issuer: 'i', subject: 'bob', clientId: 'a' },
      { issuer: 'j', subject: 'alice', clientId: 'a' },
      { issuer: 'i', subject: undefined, clientId: 'a' },
      { issuer: 'i', subject: undefined, clientId: 'b' },
    ]) {
      await possession({ ...bound, ...who, callerKey: callerKey(who) }, withProof('t'), call(await sent(client)));
    }
    const [alice, again, ...others] = used.map(([, , owner]) => owner);
    expect(again).toBe(alice);
    expect(new Set([alice, ...others]).size).toBe(5);
  });

  test('refuses the call while it is unavailable', async () => {
    const client = await createProver();
    const { possession } = create(dpop, false);
    const principal = principalOf({ jwkThumbprint: client.cnf.jkt });
    const proof = await sent(client);
    await expect(possession(principal, withProof('t'), call(proof))).rejects.toThrow(
      refused('shared_store.unavailable'),
    );
  });
});

describe('an invalid proof', () => {
  const anything = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.double());
  const member = (...names: readonly string[]) =>
    fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), anything, { maxKeys: 4 });
  const segment = (value: unknown): string => Buffer.from(JSON.stringify(value) ?? '').toString('base64url');

  test('is refused with a Denial, whatever its bytes', async () => {
    const client = await createProver();
    const { possession, used } = create({ ...dpop, nonce: true });
    const principal = principalOf({ jwkThumbprint: client.cnf.jkt });
    const refuses = async (text: string): Promise<void> => {
      await expect(possession(principal, withProof('t'), call(text))).rejects.toBeInstanceOf(Denial);
    };
    const [head = '', claims = '', signature = ''] = (await sent(client)).split('.');
    const sound: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString());
    await fc.assert(fc.asyncProperty(fc.string({ unit: 'binary' }), refuses));
    await fc.assert(
      fc.asyncProperty(
        member('typ', 'alg', 'jwk', 'crit', 'b64', 'kid'),
        member('jti', 'htm', 'htu', 'iat', 'ath', 'nonce', 'exp', 'nbf'),
        (header, payload) =>
          refuses(
            [
              segment({ typ: 'dpop+jwt', alg: 'ES256', jwk: client.jwk, ...header }),
              segment({ ...(sound as object), nonce: new Nonces('key', clock).current(), ...payload }),
              signature,
            ].join('.'),
          ),
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.nat(head.length - 1), fc.string({ maxLength: 3 }), (at, text) =>
        refuses(`${head.slice(0, at)}${text}${head.slice(at + 1)}.${claims}.${signature}`),
      ),
    );
    expect(used).toEqual([]);
  });

  test('is refused for a malformed signature', async () => {
    const client = await createProver('RS256');
    const { possession } = create(dpop);
    const principal = principalOf({ jwkThumbprint: client.cnf.jkt });
    const [head, claims] = (await sent(client)).split('.');
    for (const signature of ['A', 'AA', 'A'.repeat(342), 'A'.repeat(2000)]) {
      await expect(possession(principal, withProof('t'), call(`${head}.${claims}.${signature}`))).rejects.toThrow(
        refused('proof.invalid'),
      );
    }
  });
});

const MINUTE = 60_000;
let now = 1_000 * MINUTE;

test('RFC 9449 §9 — accepts the newest nonce and the one before it, on every replica with the key', () => {
  const [here, there, elsewhere] = ['key', 'key', 'another'].map((key) => new Nonces(key, () => now));
  const first = here?.current() ?? '';
  expect(first).toMatch(/^[\w-]{22}$/);
  expect(there?.current()).toBe(first);
  expect(elsewhere?.accepts(first)).toBe(false);
  now += 2 * MINUTE;
  const second = here?.current() ?? '';
  expect(second).not.toBe(first);
  expect(there?.accepts(first)).toBe(true);
  expect(there?.accepts(second)).toBe(true);
  now += 2 * MINUTE;
  expect(there?.accepts(first)).toBe(false);
  expect(there?.accepts(second)).toBe(true);
  now -= 4 * MINUTE;
  expect(there?.accepts(second), 'of the future').toBe(false);
});

test.each(['', 'x', 'AAAAAAAAAAAAAAAAAAAAAA'])('accepts no nonce %j', (nonce) => {
  expect(new Nonces('key', () => now).accepts(nonce)).toBe(false);
});
