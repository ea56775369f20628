import { expect, test } from 'vitest';
import { Denial, isTokenDenial } from '../../../src/core/model/denial.ts';
import { refusals, type Reason } from '../../../src/core/model/reasons.ts';
import { outcomeKind } from '../../../src/core/model/outcome.ts';

test.each(Object.keys(refusals) as Reason[])('%s refuses the token itself only if it is a token.* reason', (reason) => {
  expect(isTokenDenial(new Denial(reason, ''))).toBe('inPhantom' in refusals[reason]);
});

test('an error that is no denial says nothing about the token', () => {
  expect(isTokenDenial(new TypeError('token.expired'))).toBe(false);
  expect(isTokenDenial({ reason: 'token.expired' })).toBe(false);
});

test.each([
  [true, undefined, 'allowed'],
  [true, 'claim.denied', 'shadow'],
  [false, 'scope.insufficient', 'challenged'],
  [false, 'claim.denied', 'refused'],
  [false, 'quota.exceeded', 'refused'],
  [false, 'authorization_server.unavailable', 'unavailable'],
  [false, 'shared_store.unavailable', 'unavailable'],
  [false, 'not a reason', 'refused'],
])('allow %j for the reason %j is %s', (allow, reason, kind) => {
  expect(outcomeKind(allow, reason)).toBe(kind);
});
