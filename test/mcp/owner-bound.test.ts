import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lengthPrefixed } from '../../src/core/lib/digest.ts';
import { createOwnerBound } from '../../src/mcp/bindings.ts';

const key = 'a key of at least thirty-two characters';
const owner = lengthPrefixed(['tools', 'https://issuer.example', 'subject', 'alice']);

test('gives a handle back to its owner, on every replica with the same key', () => {
  const bound = createOwnerBound(key).bind('session.1', owner);
  expect(bound).toMatch(/^session\.1\.[A-Za-z0-9_-]{22}$/);
  expect(createOwnerBound(key).unbind(bound, owner)).toBe('session.1');
});

test('keeps its form, since replicas of two releases serve the same clients', () => {
  expect(createOwnerBound(key).bind('session.1', owner)).toBe('session.1.fvVinBIE47qv2eatScpwUg');
});

test('binds any handle', () => {
  const sessions = createOwnerBound(key);
  fc.assert(
    fc.property(fc.string({ maxLength: 4 }), (handle) => {
      expect(sessions.unbind(sessions.bind(handle, owner), owner)).toBe(handle);
    }),
  );
});

test.each([
  ['another person', ['tools', 'https://issuer.example', 'subject', 'bob']],
  ['a person of nearly the same name', ['tools', 'https://issuer.example', 'subject', 'alice ']],
  ['a person of the same name in another case', ['tools', 'https://issuer.example', 'subject', 'ALICE']],
  ['a client of the same name', ['tools', 'https://issuer.example', 'client', 'alice']],
  ['another issuer', ['tools', 'https://other.example', 'subject', 'alice']],
  ['another route', ['other', 'https://issuer.example', 'subject', 'alice']],
  ['the same letters, parted otherwise', ['tools', 'https://issuer.examples', 'ubject', 'alice']],
])('gives no handle to %s', (_, other) => {
  const sessions = createOwnerBound(key);
  expect(sessions.unbind(sessions.bind('session', owner), lengthPrefixed(other))).toBeUndefined();
});

test('gives no handle under another key', () => {
  expect(createOwnerBound(`${key}.`).unbind(createOwnerBound(key).bind('s', owner), owner)).toBeUndefined();
});

test('refuses any text that it did not bind', () => {
  const sessions = createOwnerBound(key);
  fc.assert(
    fc.property(fc.string(), (made) => {
      expect(sessions.unbind(made, owner)).toBeUndefined();
      expect(sessions.unbind(`session.${made}`, owner)).toBeUndefined();
    }),
  );
});

test('refuses a handle that is made up, guessed or put together', () => {
  const sessions = createOwnerBound(key);
  const [own, foreign] = [sessions.bind('session', owner), sessions.bind('session', lengthPrefixed(['tools']))];
  const mac = own.slice(-22);
  for (const made of [
    'session',
    'session.',
    `.${mac}`,
    mac,
    `session.${mac.slice(0, -1)}`,
    `session.${mac}A`,
    `session.${mac.toUpperCase()}`,
    `session.${'A'.repeat(22)}`,
    `sessionx.${mac}`,
    `${own}, ${foreign}`,
    foreign,
    'x'.repeat(4_000),
    '__proto__',
  ]) {
    expect(sessions.unbind(made, owner)).toBeUndefined();
  }
});

test('accepts one spelling of the MAC', () => {
  const sessions = createOwnerBound(key);
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    const bound = sessions.bind(id, owner);
    const [handle, mac] = [bound.slice(0, -22), bound.slice(-22)];
    const bytes = Buffer.from(mac, 'base64url');
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = letters.indexOf(mac.at(-1) ?? '');
    for (const spare of [1, 2, 15]) {
      const other = mac.slice(0, -1) + letters[last ^ spare];
      expect(Buffer.from(other, 'base64url')).toEqual(bytes);
      expect(sessions.unbind(handle + other, owner)).toBeUndefined();
    }
    const within = `${mac.slice(0, -3)}!${mac.slice(-3)}`;
    for (const other of [within, `${mac}=`, `${mac}==`, ` ${mac}`, `${mac}\n`, bytes.toString('base64'), `!${mac}`]) {
      expect(sessions.unbind(handle + other, owner)).toBeUndefined();
    }
  }
});
