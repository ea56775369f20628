import { expect, test } from 'vitest';
import type { Route } from '../../../src/core/model/route.ts';
import { stepUpScopes } from '../../../src/serve/config/step-up-scopes.ts';

test.each([
  ['policy', ['payments', 'admin']],
  ['supported', ['admin']],
  ['none', ['read', 'payments', 'admin']],
] as const)('the scopes beyond a first challenge of %s', (firstChallenge, scopes) => {
  const policy = { scope: ['read'], scopes: ['read', 'payments', 'admin'] };
  const route = { firstChallenge, policy, resource: { scopesSupported: ['read', 'payments'] } } as unknown as Route;
  expect(stepUpScopes(route)).toEqual(scopes);
  expect(stepUpScopes({ ...route, policy: undefined })).toEqual([]);
});
