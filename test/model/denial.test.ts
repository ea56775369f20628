import { expect, test } from 'vitest';
import { Denial, isTokenDenial } from '../../src/model/denial.ts';
import { refusals, type Reason } from '../../src/model/reasons.ts';

test.each(Object.keys(refusals) as Reason[])('%s refuses the token itself only if it is a token.* reason', (reason) => {
  expect(isTokenDenial(new Denial(reason, ''))).toBe('inPhantom' in refusals[reason]);
});

test('an error that is no denial says nothing about the token', () => {
  expect(isTokenDenial(new TypeError('token.expired'))).toBe(false);
  expect(isTokenDenial({ reason: 'token.expired' })).toBe(false);
});
