import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { emailDigest, providerSession, subjectOf } from '../../src/tokens/front-door-subject.ts';

const sha256 = (text: string): string => hash('sha256', text, 'base64url');

// Policies, revocations and upstreams name them.
test('names persons, workloads, sessions and addresses alike in all releases', () => {
  expect(subjectOf('provider', 'corp', '4711')).toBe(sha256('20:sallyport front door8:provider4:corp4:4711'));
  expect(subjectOf('workload', 'corp', '4711')).toBe(sha256('20:sallyport front door8:workload4:corp4:4711'));
  expect(providerSession('corp', '4711')).toBe(sha256('20:sallyport front door7:session4:corp4:4711'));
  expect(emailDigest('corp', 'alice@bank.example')).toBe(
    sha256('20:sallyport front door5:email4:corp18:alice@bank.example'),
  );
});

test('is in base64url, of 32 bytes', () => {
  expect(subjectOf('assertion', 'corp', '4711')).toMatch(/^[\w-]{43}$/);
});
