import * as fc from 'fast-check';
import { test } from 'vitest';

/** A test that a statement holds for all values of these kinds. */
export function property<Values extends readonly [unknown, ...unknown[]]>(
  title: string,
  kinds: { readonly [Index in keyof Values]: fc.Arbitrary<Values[Index]> },
  statement: (...values: Values) => void,
  parameters?: fc.Parameters<[...Values]>,
): void {
  // oxlint-disable-next-line vitest/valid-title, vitest/expect-expect -- The caller has both, as a test has.
  test(title, () => {
    fc.assert(fc.property(...(kinds as unknown as [fc.Arbitrary<never>]), statement as never), parameters as never);
  });
}
