import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { amountOf, compileOwner, unitsFor } from '../../../src/policy-parts/history/rules.ts';
import { runs } from '../../support/runs.ts';
import type { PolicyFault } from '../../../src/core/policy/document.ts';
import { caller } from '../../core/policy/caller.ts';

describe('an amount', () => {
  test.each<[unknown, boolean, number]>([
    [0, false, 0],
    [-0, false, -0],
    [0.1, false, 0.1],
    [1e300, false, 1e300],
    [7, true, 7],
    ['7', true, 7],
    ['007', true, 7],
    [2 ** 53 - 1, true, 2 ** 53 - 1],
  ])('%j with integer %s is %d', (value, isInteger, amount) => {
    expect(amountOf(value, isInteger)).toBe(amount);
  });

  test.each<[unknown, boolean]>([
    [undefined, false],
    [null, false],
    [true, false],
    ['5', false],
    [[5], false],
    [{}, false],
    [-1, false],
    [-1e-300, false],
    [Infinity, false],
    [-Infinity, false],
    [Number.NaN, false],
    [1.5, true],
    [2 ** 53, true],
    ['-1', true],
    ['+1', true],
    ['1.0', true],
    ['1e3', true],
    ['0x10', true],
    [' 1', true],
    ['1\n', true],
    ['', true],
    ['٣', true],
    ['9007199254740992', true],
    [['7'], true],
  ])('%j with integer %s is none', (value, isInteger) => {
    expect(amountOf(value, isInteger)).toBeUndefined();
  });
});

describe('units', () => {
  test('three times 0.1 is not above 0.3, and ten times 0.07 not above 0.7', () => {
    const tenths = unitsFor(0.3, false);
    expect(3 * (tenths?.of(0.1) ?? Infinity)).toBe(tenths?.limit);
    const hundredths = unitsFor(0.7, false);
    expect(10 * (hundredths?.of(0.07) ?? Infinity)).toBe(hundredths?.limit);
  });

  test('amounts are rounded up, so that no amount above 0 counts as 0', () => {
    expect(unitsFor(5000, false)?.of(1e-300)).toBe(1);
    expect(unitsFor(5000, false)?.of(0.000_000_1)).toBe(1);
    expect(unitsFor(5000, false)?.of(1.000_000_1)).toBe(1_000_001);
    expect(unitsFor(5000, false)?.of(0)).toBe(0);
    expect(unitsFor(20, true)?.of(1)).toBe(1);
  });

  test.each<[number, boolean, number, number]>([
    [5000, false, 5_000_000_000, 6],
    [0.000_001, false, 1, 6],
    [4_499_999_999, false, 4_499_999_999_000_000, 6],
    [4_500_000_000, false, 450_000_000_000_000, 5],
    [4_499_999_999_999_999, false, 4_499_999_999_999_999, 0],
    [20, true, 20, 0],
    [1e-6, false, 1, 6],
    [2.5e3, false, 2_500_000_000, 6],
  ])('a limit of %d, integer %s, is %d units of %d decimal places', (most, isInteger, limit, decimals) => {
    expect(unitsFor(most, isInteger)).toMatchObject({ limit, decimals });
  });

  test.each<[number, boolean]>([
    [4_500_000_000_000_000, false],
    [4_500_000_000_000_000, true],
    [Infinity, false],
    [Number.NaN, false],
    [0.000_000_1, false],
    [1.000_000_1, false],
    [1.5, true],
    [4_503_599_628.123_456, false],
  ])('a limit of %d, integer %s, cannot be summed exactly', (most, isInteger) => {
    expect(unitsFor(most, isInteger)).toBeUndefined();
  });

  test('a sum of amounts within the limit is exact, and never below what the upstream sums up', () => {
    const cents = fc.integer({ min: 0, max: 100_000 });
    fc.assert(
      fc.property(fc.array(cents, { maxLength: 20 }), (amounts) => {
        const units = unitsFor(5000, false);
        const summed = amounts.map((each) => units?.of(each / 100) ?? 0).reduce((sum, each) => sum + each, 0);
        expect(summed).toBe(amounts.reduce((sum, each) => sum + each, 0) * 10_000);
      }),
      { numRuns: runs },
    );
  });
});

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

test('the actor is that of its issuer, whatever the subject and the client are, or else the client', () => {
  const issuer = 'https://as.example';
  const alice = caller();
  const agent = { ...alice, actors: [{ issuer, subject: 'agent' }] };
  expect(ownerOf('actor', { ...agent, subject: 'bob', clientId: 'other' })).toBe(ownerOf('actor', agent));
  const outer = { ...alice, actors: [...agent.actors, { issuer, subject: 'first' }] };
  expect(ownerOf('actor', outer)).toBe(ownerOf('actor', agent));
  expect(ownerOf('actor', { ...alice, actors: [{ issuer: 'https://other', subject: 'agent' }] })).not.toBe(
    ownerOf('actor', agent),
  );
  expect(ownerOf('actor', alice)).toBe(ownerOf('actor', { ...alice, subject: 'bob' }));
  // A client of the name of an actor is another agent.
  expect(ownerOf('actor', { ...alice, clientId: 'agent' })).not.toBe(ownerOf('actor', agent));
  expect(ownerOf('actor', { ...alice, clientId: undefined })).toBeUndefined();
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
    ['subject', 'client', 'actor', 'everyone', 'tenant', '/actor'].map(
      (by) => compileOwner(by, path, []).claim !== undefined,
    ),
  ).toEqual([false, false, false, false, true, true]);
  expect(compileOwner('subject', path, []).found(caller())).toBe('none');
});
