import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { remembered } from '../../../src/core/lib/remembered.ts';

const MIB = 1024 * 1024;

/** The size of all values that are still in use. */
function liveBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

function counting() {
  const computed: string[] = [];
  const lengthOf = remembered((name) => {
    computed.push(name);
    return name.length;
  });
  return { computed, lengthOf };
}

test('computes the result of a name once', () => {
  const { computed, lengthOf } = counting();
  expect(['a', 'bb', 'a', 'bb'].map(lengthOf)).toEqual([1, 2, 1, 2]);
  expect(computed).toEqual(['a', 'bb']);
});

test('remembers no name of more than 128 characters', () => {
  const { computed, lengthOf } = counting();
  const longest = 'a'.repeat(128);
  expect([longest, longest, `${longest}b`, `${longest}b`].map(lengthOf)).toEqual([128, 128, 129, 129]);
  expect(computed).toEqual([longest, `${longest}b`, `${longest}b`]);
});

test('remembers the first 1,024 names, and computes the result of each later one', () => {
  const { computed, lengthOf } = counting();
  const names = Array.from({ length: 1025 }, (_, at) => `name ${at}`);
  for (const name of [...names, ...names]) lengthOf(name);
  expect(computed).toEqual([...names, 'name 1024']);
});

test('distinguishes names that UTF-8 cannot', () => {
  const { computed, lengthOf } = counting();
  expect(['\uD800', '\uDC00', '\uFFFD'].map(lengthOf)).toEqual([1, 1, 1]);
  expect(computed).toEqual(['\uD800', '\uDC00', '\uFFFD']);
});

test('does not remember a failure', () => {
  const fail = remembered((): string => {
    throw new RangeError('no');
  });
  expect(() => fail('a')).toThrow(RangeError);
  expect(() => fail('a')).toThrow(RangeError);
});

test('keeps of a long text only the name', () => {
  const { lengthOf } = counting();
  const text = 'name of a thing' + ' '.repeat(4 * MIB);
  const before = liveBytes();
  // V8 makes this a slice, which refers to the whole text.
  lengthOf((text + Math.random()).slice(0, 15));
  expect(liveBytes() - before).toBeLessThan(2 * MIB);
  expect(text).toHaveLength(4 * MIB + 15);
});
