import { describe, expect, test } from 'vitest';
import { notAccepted, notAcceptedOf, outOfTime } from '../../src/tokens/refusal-detail.ts';

describe('what a refused token says', () => {
  test.each<[found: unknown, accepted: string[], detail: string]>([
    ['https://b', ['https://a'], 'iss is "https://b"; accepted: "https://a"'],
    ['b', ['a', '', 'c'], 'iss is "b"; accepted: "a", none, "c"'],
    ['', ['a'], 'the token has no iss; accepted: "a"'],
    [undefined, ['a'], 'the token has no iss; accepted: "a"'],
    [['a'], ['a'], 'iss is an array of 1; accepted: "a"'],
    [{ a: 1 }, ['a'], 'iss is an object of 1; accepted: "a"'],
  ])('%j beside %j', (found, accepted, detail) => {
    expect(notAccepted('iss', found, accepted)).toBe(detail);
  });

  test('is cut, and has no character that a terminal obeys', () => {
    const long = 'x'.repeat(5000);
    expect(notAccepted('alg', long, ['a'])).toBe(`alg is "${'x'.repeat(64)}…"; accepted: "a"`);
    expect(notAccepted('alg', '\u001b[2J\n\u202e', ['a'])).toBe('alg is "\\u001b[2J\\n\\u{202e}"; accepted: "a"');
  });

  test('shows three of several values', () => {
    expect(notAcceptedOf('aud', ['a', 'b', 'c'], ['x'])).toBe('aud is "a", "b", "c"; accepted: "x"');
    expect(notAcceptedOf('aud', ['a', 'b', 'c', 'd', 'e'], ['x'])).toBe(
      'aud is "a", "b", "c" and 2 more; accepted: "x"',
    );
    expect(notAcceptedOf('aud', [], new Set(['x', 'y']))).toBe('the token has no aud; accepted: "x", "y"');
  });
});

test.each([
  [0, '0 s ago'],
  [1, '1 s ago'],
  [119, '119 s ago'],
  [120, '2 min ago'],
  [7199, '119 min ago'],
  [7200, '2 h ago'],
  [172_799, '47 h ago'],
  [172_800, '2 d ago'],
  [-1, '1 s ahead'],
  [-180, '3 min ahead'],
  [0.4, '0 s ago'],
])('a time that has passed, or not yet come: %d s before now: %s', (seconds, distance) => {
  const now = 1_800_000_000;
  expect(outOfTime('exp', now - seconds, now * 1000, 5000)).toBe(`exp is ${distance}; clock_tolerance is 5 s`);
});
