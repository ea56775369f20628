/** Pseudo-random numbers from a seed. */
export interface Random {
  /** A whole number from 0 up to, but not including, `bound`. */
  below(bound: number): number;
  chance(probability: number): boolean;
  pick<Item>(from: readonly Item[]): Item;
}

/** Creates a generator: sfc32, seeded with a hash of the text. */
export function createRandom(seed: string): Random {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(seed)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  let [a, b, c, d] = [hash, hash ^ 0x9e3779b9, hash ^ 0x243f6a88, 1];
  const next = (): number => {
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let i = 0; i < 15; i += 1) next();
  const below = (bound: number): number => Math.floor((next() / 2 ** 32) * bound);
  return {
    below,
    chance: (probability) => next() / 2 ** 32 < probability,
    pick: (from) => from[below(from.length)] as (typeof from)[number],
  };
}
