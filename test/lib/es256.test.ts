import { generateKeyPairSync, verify } from 'node:crypto';
import { expect, test } from 'vitest';
import { signEs256 } from '../../src/lib/es256.ts';

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
