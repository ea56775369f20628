import { expect, test } from 'vitest';
import { createNonces } from '../../../src/pipeline/authenticate/possession.ts';

const MINUTE = 60_000;
let now = 1_000 * MINUTE;
const clock = (): number => now;

test('the newest and the one before it are accepted, on every replica with the key', () => {
  const [here, there, elsewhere] = ['key', 'key', 'another'].map((key) => createNonces(key, clock));
  const first = here?.current() ?? '';
  expect(first).toMatch(/^[\w-]{22}$/);
  expect(there?.current()).toBe(first);
  expect(elsewhere?.accepts(first)).toBe(false);
  now += 2 * MINUTE;
  const second = here?.current() ?? '';
  expect(second).not.toBe(first);
  expect(there?.accepts(first)).toBe(true);
  expect(there?.accepts(second)).toBe(true);
  now += 2 * MINUTE;
  expect(there?.accepts(first)).toBe(false);
  expect(there?.accepts(second)).toBe(true);
  now -= 4 * MINUTE;
  expect(there?.accepts(second), 'of the future').toBe(false);
});

test.each(['', 'x', 'AAAAAAAAAAAAAAAAAAAAAA'])('not %j', (nonce) => {
  expect(createNonces('key', clock).accepts(nonce)).toBe(false);
});
