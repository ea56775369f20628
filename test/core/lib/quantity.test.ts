import { expect, test } from 'vitest';
import { durationMs, sizeBytes } from '../../../src/core/lib/quantity.ts';

test.each([
  ['0s', 0],
  ['500ms', 500],
  ['30s', 30_000],
  ['5m', 300_000],
  ['1h', 3_600_000],
  ['05m', undefined],
  ['5', undefined],
  ['5 s', undefined],
  ['5S', undefined],
  ['-5s', undefined],
  ['1.5s', undefined],
  ['5toString', undefined],
  ['', undefined],
])('%j lasts %s ms', (text, expected) => {
  expect(durationMs(text)).toBe(expected);
});

test.each([
  ['512B', 512],
  ['16KiB', 16_384],
  ['1MiB', 1_048_576],
  ['1kB', undefined],
  ['1s', undefined],
])('%j is %s bytes', (text, expected) => {
  expect(sizeBytes(text)).toBe(expected);
});
