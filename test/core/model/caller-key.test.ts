import { describe, expect, test } from 'vitest';
import { callerKey } from '../../../src/core/model/caller-key.ts';

const issuer = 'https://as.example';

describe('the key of a caller', () => {
  const alice = callerKey({ issuer, subject: 'alice', clientId: 'app' });

  test('names the subject, whatever client it uses', () => {
    expect(alice).toBe('18:https://as.example7:subject5:alice');
    expect(callerKey({ issuer, subject: 'alice', clientId: undefined })).toBe(alice);
  });

  test('names the client of a token without a subject', () => {
    expect(callerKey({ issuer, subject: undefined, clientId: 'app' })).toBe('18:https://as.example6:client3:app');
  });

  test.each([
    ['a subject at another issuer', { issuer: 'https://other.example', subject: 'alice', clientId: 'app' }],
    ['another subject', { issuer, subject: 'bob', clientId: 'app' }],
    ['a client whose id is the name of the subject', { issuer, subject: undefined, clientId: 'alice' }],
    ['a subject whose name begins like a key', { issuer, subject: '5:alice', clientId: 'app' }],
  ])('differs for %s', (_, other) => {
    expect(callerKey(other)).not.toBe(alice);
  });

  test('RFC 7662 §2.2: is undefined where a token names neither', () => {
    expect(callerKey({ issuer, subject: undefined, clientId: undefined })).toBeUndefined();
  });
});
