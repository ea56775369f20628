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

/** The median of the ratios within each round. Other load on the machine affects both samples of a round alike. */
export function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((each, round) => each / (theirs[round] ?? NaN)));
}
