import { expect, test } from 'vitest';
import { outcomeKind } from '../../src/model/outcome.ts';

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
