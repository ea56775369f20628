import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { describe, expect, test } from 'vitest';
import { createRotatingKeys, ROTATION_MS, signEs256 } from '../../src/tokens/rotating-keys.ts';

const secret = 'k3y-of-at-least-thirty-two-characters';
const day = 20_000 * ROTATION_MS;

test('the same secret gives the same keys in all releases', () => {
  const kids = (): string[] =>
    createRotatingKeys(secret)
      .published(day)
      .map(({ kid }) => kid);
  expect(kids()).toEqual(kids());
  expect(kids()).toEqual([
    'oxOB8SMZRf_KCuVnrJRW5UZUFwoMCgxSaFEYHqPkWrs',
    '0s3JwKo4PqGnNA4k9SOu_2pr48pRIKGjG86f4tJhii4',
    '2wvmTtpe5W1Q9wGeXl5EvjZv0PE0VjtZiulV7qdCodM',
  ]);
  // Its private key begins with a zero.
  const { publicKey } = createRotatingKeys(secret).current(day + 56 * ROTATION_MS);
  expect(publicKey.kid).toBe('w_e0BZYX3LdCOVYIi7nPvvxOFTBP2P_HPMbntXWcDFY');
  expect(createRotatingKeys('another k3y-of-at-least-thirty-two').published(day)).not.toEqual(
    createRotatingKeys(secret).published(day),
  );
});

test('RFC 7517 §4 — a key is for ES256 signatures, and its kid is its thumbprint, RFC 7638 §3', async () => {
  for (const key of createRotatingKeys(secret).published(day)) {
    expect(key).toMatchObject({ kty: 'EC', crv: 'P-256', use: 'sig', alg: 'ES256' });
    expect(key.kid).toBe(await calculateJwkThumbprint(key));
  }
});

test('the private key signs for the published one', () => {
  const keys = createRotatingKeys(secret);
  for (let i = 0; i < 20; i += 1) {
    const { privateKey, publicKey } = keys.current(day + i * ROTATION_MS);
    const key = createPublicKey({ key: { ...publicKey }, format: 'jwk' });
    const signature = Buffer.from(signEs256('input', privateKey), 'base64url');
    expect(verify('sha256', Buffer.from('input'), { key, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true);
  }
});

describe('rotation', () => {
  const at = (keys: ReturnType<typeof createRotatingKeys>, now: number): readonly string[] =>
    keys.published(now).map(({ kid }) => kid);

  test('publishes the keys of yesterday, today and tomorrow', () => {
    const keys = createRotatingKeys(secret);
    const [before, today, after] = at(keys, day);
    expect(new Set([before, today, after]).size).toBe(3);
    expect(keys.current(day).publicKey.kid).toBe(today);
    expect(keys.current(day + ROTATION_MS - 1)).toBe(keys.current(day));
    expect(keys.current(day + ROTATION_MS).publicKey.kid).toBe(after);
    expect(at(keys, day + ROTATION_MS).slice(0, 2)).toEqual([today, after]);
    expect(keys.around(day).map(({ publicKey }) => publicKey.kid)).toEqual([today, before, after]);
  });

  test('derives the keys in use once, and forgets those of other days', () => {
    const keys = createRotatingKeys(secret);
    const [today] = keys.around(day);
    for (let time = 0; time < 2; time += 1) {
      expect(keys.around(day + ROTATION_MS)[1]).toBe(today);
      expect(keys.around(day)[0]).toBe(today);
    }
    keys.current(day + 3 * ROTATION_MS);
    expect(keys.current(day)).not.toBe(today);
  });

  test('a set fetched at any time verifies signatures from a day before to a day after', () => {
    const keys = createRotatingKeys(secret);
    for (const fetched of [day, day + ROTATION_MS / 2, day + ROTATION_MS - 1]) {
      for (const signed of [fetched - ROTATION_MS, fetched, fetched + ROTATION_MS]) {
        expect(at(keys, fetched)).toContain(keys.current(signed).publicKey.kid);
      }
    }
  });

  test('a clock that jumps back gets the same keys', () => {
    const keys = createRotatingKeys(secret);
    const first = at(keys, day);
    for (let i = 0; i < 50; i += 1) keys.current(day + i * ROTATION_MS);
    expect(at(keys, day)).toEqual(first);
  });
});

test('RFC 7518 §3.4 — r and s of 32 octets each, however many octets DER takes for them', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // One in 256 numbers is shorter than 32 octets, every other one longer by a zero: 600 signatures meet them all.
  for (let i = 0; i < 600; i += 1) {
    const raw = Buffer.from(signEs256(`input ${i}`, privateKey), 'base64url');
    expect(raw).toHaveLength(64);
    const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', Buffer.from(`input ${i}`), key, raw)).toBe(true);
  }
});
