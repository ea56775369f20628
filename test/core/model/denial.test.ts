import { expect, test } from 'vitest';
import { Denial, isTokenDenial } from '../../../src/core/model/denial.ts';
import { refusals, type Reason } from '../../../src/core/model/reasons.ts';
import { outcomeKind } from '../../../src/core/model/outcome-kind.ts';

test.each(Object.keys(refusals) as Reason[])('%s refuses the token itself only if it is a token.* reason', (reason) => {
  expect(isTokenDenial(new Denial(reason, ''))).toBe('onReload' in refusals[reason]);
});

test('an error that is no denial says nothing about the token', () => {
  expect(isTokenDenial(new TypeError('token.expired'))).toBe(false);
  expect(isTokenDenial({ reason: 'token.expired' })).toBe(false);
});

test.each([
  ['scope.insufficient', 'challenged'],
  ['claim.denied', 'refused'],
  ['quota.exceeded', 'refused'],
  ['authorization_server.unavailable', 'unavailable'],
  ['shared_store.unavailable', 'unavailable'],
] as const)('a call refused for %s is %s, and allowed in shadow mode it is shadow', (reason, kind) => {
  const refusal = refusals[reason];
  expect(outcomeKind({ allow: false, refusal, shadow: undefined })).toBe(kind);
  expect(outcomeKind({ allow: true, refusal: undefined, shadow: refusal })).toBe('shadow');
});

test('a call without a refusal is allowed', () => {
  expect(outcomeKind({ allow: true, refusal: undefined, shadow: undefined })).toBe('allowed');
});
