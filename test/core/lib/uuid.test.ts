import { expect, test } from 'vitest';
import { uuid } from '../../../src/core/lib/uuid.ts';

test('is a UUID of version 4 and variant 10, RFC 9562 §5.4, each time another', () => {
  const ids = Array.from({ length: 2_000 }, uuid);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(ids).size).toBe(ids.length);
});

test('has each hexadecimal digit at each place', () => {
  const ids = Array.from({ length: 2_000 }, uuid);
  const seen = Array.from({ length: 36 }, (_, at) => new Set(ids.map((id) => id[at])).size);
  const expected = Array.from({ length: 36 }, (_, at) => ([8, 13, 14, 18, 23].includes(at) ? 1 : at === 19 ? 4 : 16));
  expect(seen).toEqual(expected);
});
