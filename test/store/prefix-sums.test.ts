import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPrefixSums } from '../../src/store/prefix-sums.ts';

/** Reads the list as it is. */
function indexOf(values: readonly number[], total: number): number {
  let sum = 0;
  const index = values.findIndex((value) => (sum += value) >= total);
  return index === -1 ? values.length : index;
}

test('finds what a walk over the list finds, after any appended and changed values', () => {
  const operation = fc.oneof(
    fc.record({ append: fc.nat(9) }),
    fc.record({ change: fc.nat(99), to: fc.nat(9) }),
    fc.record({ find: fc.integer({ min: 1, max: 200 }) }),
  );
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 150, size: 'max' }), (operations) => {
      const values: number[] = [];
      const sums = createPrefixSums();
      const found: number[] = [];
      const expected: number[] = [];
      for (const each of operations) {
        if ('append' in each) {
          values.push(each.append);
          sums.append(each.append);
        } else if ('find' in each) {
          found.push(sums.indexOf(each.find));
          expected.push(indexOf(values, each.find));
        } else if (values.length > 0) {
          const index = each.change % values.length;
          sums.change(index, each.to - (values[index] as number));
          values[index] = each.to;
        }
      }
      expect(found).toEqual(expected);
    }),
  );
});

test('finds nothing in an empty list', () => {
  expect(createPrefixSums().indexOf(1)).toBe(0);
});
