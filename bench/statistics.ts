/** The median of samples. For an even number, the mean of the two in the middle. */
export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

/** The quantile, interpolated between two samples. NaN without samples. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = samples.toSorted((one, other) => one - other);
  const at = (sorted.length - 1) * q;
  const low = sorted[Math.floor(at)] ?? NaN;
  const high = sorted[Math.ceil(at)] ?? NaN;
  return low + (high - low) * (at - Math.floor(at));
}

/** The median of samples, and the quartiles around it: half of the samples are between them. */
export interface Spread {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/** The median and the quartiles of samples. */
export function spread(samples: readonly number[]): Spread {
  return { low: quantile(samples, 0.25), median: median(samples), high: quantile(samples, 0.75) };
}

/** The ratio within each round. Other load on the machine affects both samples of a round alike. */
export function ratios(ours: readonly number[], theirs: readonly number[]): readonly number[] {
  return ours.map((each, round) => each / (theirs[round] ?? NaN));
}

/** The difference within each round. */
export function differences(ours: readonly number[], theirs: readonly number[]): readonly number[] {
  return ours.map((each, round) => each - (theirs[round] ?? NaN));
}

/** The median of the ratios within each round. */
export function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  return median(ratios(ours, theirs));
}

/** The items in another order for each round, so that no item always follows the same one: A B C, C A B, B C A … */
export function rotated<Item>(items: readonly Item[], round: number): readonly Item[] {
  const from = items.length - (round % items.length);
  return [...items.slice(from), ...items.slice(0, from)];
}

/** Measures each item once in each round, and returns its samples. Each round has another order. */
export async function inRounds<Item, Sample>(
  rounds: number,
  items: ReadonlyMap<string, Item>,
  measure: (item: Item, round: number) => Promise<Sample>,
): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const samples = new Map([...items.keys()].map((name) => [name, [] as Sample[]]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, item] of rotated([...items], round)) samples.get(name)?.push(await measure(item, round));
    process.stdout.write('.');
  }
  process.stdout.write('\n');
  return samples;
}
