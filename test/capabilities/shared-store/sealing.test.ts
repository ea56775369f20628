import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSealing } from '../../../src/capabilities/shared-store/sealing.ts';

const sealing = createSealing('k3y-of-at-least-thirty-two-characters');
const place = sealing.place('answer:introspection', 'key');

test('opens sealed text at its place with the shared key', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const replica = createSealing('k3y-of-at-least-thirty-two-characters');
      const at = replica.place('answer:introspection', 'key');
      expect(at).toBe(place);
      expect(replica.open(at, sealing.seal(place, text))).toBe(Buffer.from(text).toString());
    }),
  );
});

test('seals the same text differently each time', () => {
  expect(sealing.seal(place, 'a')).not.toBe(sealing.seal(place, 'a'));
});

test('opens it at no other place, and with no other key', () => {
  const sealed = sealing.seal(place, 'text');
  expect(sealing.open(sealing.place('answer:introspection', 'other'), sealed)).toBeUndefined();
  expect(sealing.open(sealing.place('answer:exchange', 'key'), sealed)).toBeUndefined();
  expect(createSealing('another key of thirty-two characters').open(place, sealed)).toBeUndefined();
});

test('does not open changed, shortened or arbitrary bytes', () => {
  const sealed = Buffer.from(sealing.seal(place, 'text'), 'base64url');
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    expect(sealing.open(place, changed.toString('base64url'))).toBeUndefined();
  }
  for (let length = 0; length < sealed.length; length += 1) {
    expect(sealing.open(place, sealed.subarray(0, length).toString('base64url'))).toBeUndefined();
  }
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => sealing.open(place, text) === undefined));
});

test('hides the key and its length in the place, which differs by kind', () => {
  const places = ['', 'token', 'x'.repeat(10_000)].map((key) => sealing.place('replay', key));
  expect(new Set(places.map(({ length }) => length)).size).toBe(1);
  expect(places.join()).not.toContain('token');
  expect(sealing.place('answer:exchange', 'key')).not.toBe(place);
  // A kind that ends in what a key of another begins with.
  expect(sealing.place('a', 'b:c').split(':').at(-1)).not.toBe(sealing.place('a:b', 'c').split(':').at(-1));
});
