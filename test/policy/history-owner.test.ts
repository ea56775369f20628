import { describe, expect, test } from 'vitest';
import { compileOwner } from '../../src/policy/history-owner.ts';
import type { PolicyFault } from '../../src/policy/policy-error.ts';
import { caller } from './caller.ts';

const path = ['tools', 'pay', 'after', 'by'];

function ownerOf(by: string, principal = caller()): string | undefined {
  return compileOwner(by, path, []).of(principal);
}

test('the subject is that of its issuer, whatever the client, the token and the scopes are', () => {
  const alice = caller();
  expect(ownerOf('subject', { ...alice, clientId: 'other', scopes: new Set(['x']) })).toBe(ownerOf('subject', alice));
  expect(ownerOf('subject', { ...alice, subject: 'bob' })).not.toBe(ownerOf('subject', alice));
  expect(ownerOf('subject', { ...alice, issuer: 'https://other.example' })).not.toBe(ownerOf('subject', alice));
  expect(ownerOf('subject', { ...alice, subject: undefined })).toBeUndefined();
});

test('the client is that of its issuer, whatever the subject is', () => {
  const alice = caller();
  expect(ownerOf('client', { ...alice, subject: 'bob' })).toBe(ownerOf('client', alice));
  expect(ownerOf('client', { ...alice, clientId: 'other' })).not.toBe(ownerOf('client', alice));
  expect(ownerOf('client', { ...alice, issuer: 'https://other.example' })).not.toBe(ownerOf('client', alice));
  expect(ownerOf('client', { ...alice, clientId: undefined })).toBeUndefined();
});

test('`everyone` is one owner, over all issuers', () => {
  expect(ownerOf('everyone')).toBe('');
  expect(ownerOf('everyone')).toBe(ownerOf('everyone', { ...caller(), issuer: 'b', subject: undefined }));
});

test('no issuer and subject give the text of another issuer and subject', () => {
  const one = ownerOf('subject', { ...caller(), issuer: 'a', subject: '1:b' });
  expect(one).not.toBe(ownerOf('subject', { ...caller(), issuer: 'a1:', subject: 'b' }));
});

describe('a claim', () => {
  test.each([
    ['tenant', { tenant: 'acme' }],
    ['tenant', { tenant: '' }],
    ['tenant', { tenant: 7 }],
    ['tenant', { tenant: false }],
    ['/org/id', { org: { id: 'acme' } }],
    ['/subject', { subject: 'x' }],
  ])('%s of %j is an owner', (by, claims) => {
    expect(ownerOf(by, caller({ claims }))).toBeTypeOf('string');
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['tenant', {}, 'nothing'],
    ['tenant', { tenant: null }, 'null'],
    ['tenant', { tenant: ['acme'] }, 'an array of 1'],
    ['tenant', { tenant: {} }, 'an object of 0'],
    ['tenant', { tenant: 1.5 }, '1.5'],
    ['tenant', { tenant: 2 ** 53 }, '9007199254740992'],
    ['constructor', {}, 'nothing'],
    ['/org/id', { org: 'acme' }, 'a value on the way to it that is not an object'],
  ])('%s of %j is none', (by, claims, found) => {
    const owner = compileOwner(by, path, []);
    expect(owner.of(caller({ claims }))).toBeUndefined();
    expect(owner.found(caller({ claims }))).toBe(found);
  });

  test('the number 7 and the text "7" are two owners, and so is each at another issuer', () => {
    const of = (tenant: unknown): string | undefined => ownerOf('tenant', caller({ claims: { tenant } }));
    expect(of(7)).not.toBe(of('7'));
    expect(ownerOf('tenant', { ...caller({ claims: { tenant: 7 } }), issuer: 'b' })).not.toBe(of(7));
  });

  test('a malformed pointer is a fault', () => {
    const faults: PolicyFault[] = [];
    const owner = compileOwner('/a~', path, faults);
    expect(faults).toEqual([{ path, message: expect.stringContaining('"/a~" is not a JSON Pointer') as string }]);
    expect(owner.of(caller())).toBeUndefined();
  });
});

test('only a claim has a reader, for what the log records', () => {
  expect(
    ['subject', 'client', 'everyone', 'tenant'].map((by) => compileOwner(by, path, []).claim !== undefined),
  ).toEqual([false, false, false, true]);
  expect(compileOwner('subject', path, []).found(caller())).toBe('none');
});
