import { globSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { equivalents } from './equivalents.ts';
import { allMutants, isNamed, type PlacedMutant } from './mutants.ts';
import { parts, testsOf } from './parts.ts';

describe('mutation testing', () => {
  test('names exactly one mutant in each row of equivalents.txt, and no mutant twice', async () => {
    const mutants = await allMutants();
    const found = equivalents.map((row) => mutants.filter((mutant) => isNamed(row, mutant)));

    const wrong = equivalents.flatMap((row, i) =>
      found[i]?.length === 1 ? [] : [{ row, found: found[i]?.map(shown) }],
    );
    expect(wrong).toEqual([]);
    expect(new Set(found.flat()).size).toBe(equivalents.length);
  });

  test.for(Object.entries(parts))('finds files to mutate and tests to run for the part %s', ([, part]) => {
    expect(part.mutate.filter((pattern) => globSync(pattern).length === 0)).toEqual([]);
    expect(testsOf(part)).not.toEqual([]);
  });
});

function shown({ mutant, path, nth }: PlacedMutant): string {
  const { fileName, location, mutatorName, replacement } = mutant;
  return `${fileName}:${location.start.line + 1}: ${path}, ${mutatorName}, ${JSON.stringify(replacement)}, nth ${nth}`;
}
