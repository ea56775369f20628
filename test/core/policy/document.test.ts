import { expect, test } from 'vitest';
import { PolicyError, rulePath } from '../../../src/core/policy/document.ts';

test.each([
  [[], ''],
  [['scope'], 'scope'],
  [['claims', 'risk'], 'claims.risk'],
  [['any', 0, 'claims', '/realm_access/roles'], 'any[0].claims./realm_access/roles'],
  [['tools', 'get_*', 'scope'], 'tools.get_*.scope'],
  [['tools', 'user.get'], 'tools["user.get"]'],
  [['tools', 'a b', 'not'], 'tools["a b"].not'],
  [['tools', 'a]"\n'], String.raw`tools["a]\"\n"]`],
  [['tools', ''], 'tools[""]'],
])('%j is written %s', (path, expected) => {
  expect(rulePath(path)).toBe(expected);
});

test('the message names every fault', () => {
  const error = new PolicyError('demo', [
    { path: ['claims', 'x', 'below'], message: 'one' },
    { path: ['tools', 'a*'], message: 'two' },
  ]);
  expect(String(error)).toBe('PolicyError: policy demo: claims.x.below: one; tools.a*: two');
  expect(error.faults).toHaveLength(2);
});
