import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { challenge } from '../../src/respond/challenge.ts';

test.each([
  [['invalid_token', [], undefined], 'Bearer error="invalid_token"'],
  [['invalid_token', ['read'], undefined], 'Bearer error="invalid_token", scope="read"'],
  [
    ['insufficient_scope', ['read', 'pay'], 'http://x/m'],
    'Bearer error="insufficient_scope", scope="read pay", resource_metadata="http://x/m"',
  ],
  [['invalid_token', [], 'http://x/m'], 'Bearer error="invalid_token", resource_metadata="http://x/m"'],
] as const)('%j', ([error, scope, resourceMetadata], value) => {
  expect(challenge({ error, scope, resourceMetadata })).toBe(value);
});

test('the same operation gives the same bytes, one line, whatever the scopes', () => {
  const token = fc.stringMatching(/^[!#-[\]-~]{1,8}$/);
  fc.assert(
    fc.property(fc.array(token), (scope) => {
      const wanted = { error: 'invalid_token', scope, resourceMetadata: undefined } as const;
      const value = challenge(wanted);
      expect(value).toBe(challenge(wanted));
      expect(value).toMatch(/^Bearer [ -~]+$/);
      expect(/scope="([^"]*)"/.exec(value)?.[1] ?? '').toBe(scope.join(' '));
    }),
  );
});
