import { describe, expect, test } from 'vitest';
import type { Coverage } from '../../fuzz/engine/coverage.ts';
import { fuzz, type Finding } from '../../fuzz/engine/fuzz.ts';
import { createRandom } from '../../fuzz/engine/random.ts';
import { parserTarget } from '../../fuzz/target.ts';

/** A parser that reports its own coverage: how many characters of `magic` a case begins with. */
function countdown(magic: string): { target: ReturnType<typeof parserTarget>; coverage: Coverage } {
  let ran = new Set<number>();
  const known = new Set<number>();
  const target = parserTarget(
    (input) => {
      let depth = 0;
      while (depth < magic.length && input[depth] === magic.charCodeAt(depth)) ran.add((depth += 1));
      if (depth === magic.length) throw new Error('found');
      return 'shallow';
    },
    [...new Set(magic)],
  );
  const coverage: Coverage = {
    look() {
      const now = ran;
      ran = new Set();
      const fresh = [...now].filter((place) => !known.has(place));
      return {
        fresh: fresh.length === 0 ? new Map() : new Map([['reader', fresh]]),
        covers: (places) => (places.get('reader') ?? []).every((place) => now.has(place)),
      };
    },
    unknown: (places) => new Map([...places].filter(([, list]) => list.some((place) => !known.has(place)))),
    keep: (places) => (places.get('reader') ?? []).forEach((place) => known.add(place)),
    blocks: () => ({ reached: known.size, known: magic.length, files: 1 }),
    stop: () => {},
  };
  return { target, coverage };
}

async function run(seed: string, isGuided = true): Promise<readonly Finding[]> {
  const { target, coverage } = countdown('gateway');
  const found: Finding[] = [];
  await fuzz(target, [], {
    cases: 60_000,
    random: createRandom(seed),
    coverage: isGuided ? coverage : { ...coverage, look: () => ({ fresh: new Map(), covers: () => true }) },
    shrink: false,
    onProgress: () => {},
    onFinding: (finding) => found.push(finding),
  });
  return found;
}

describe('the fuzzer', () => {
  test('reaches code by its coverage that random cases alone do not reach', async () => {
    const [finding] = await run('1');
    expect(finding?.input.toString()).toBe('gateway');
    expect(finding?.what).toMatch(/found/);
    expect(await run('1', false)).toEqual([]);
  });

  test('draws the same numbers from the same seed', () => {
    const drawn = (seed: string): number[] => {
      const random = createRandom(seed);
      return Array.from({ length: 50 }, () => random.below(1000));
    };
    expect(drawn('a')).toEqual(drawn('a'));
    expect(drawn('a')).not.toEqual(drawn('b'));
  });
});
