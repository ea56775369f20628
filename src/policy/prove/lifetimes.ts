/** A lifetime of a token as a test file writes it; undefined: the token says neither `exp` nor `iat`. */
type Lifetime = string | undefined;

/** The units of a duration, longest first. */
const units = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;
const MAX_COUNT = 999_999_999;

/**
 * Lifetimes on both sides of some bounds, in seconds, simplest first. A duration has at most nine digits, so that
 * those next to a bound may be farther away than a millisecond.
 */
export function representativeLifetimes(bounds: readonly number[]): readonly Lifetime[] {
  const atBounds = bounds.flatMap((seconds) => written(seconds * 1000));
  const above = bounds.flatMap((seconds) => units.toReversed().flatMap(([, ms]) => after(seconds * 1000, ms)));
  const below = bounds.flatMap((seconds) => written(seconds * 1000 - 1));
  return [...new Set([undefined, ...atBounds, ...above.toSorted(simplestFirst), ...below])];
}

function after(ms: number, unit: number): readonly string[] {
  return written((Math.floor(ms / unit) + 1) * unit);
}

/** A time as a duration, if there is one. Up to a quarter of an hour it is in seconds, as most policies write it. */
function written(ms: number): readonly string[] {
  if (ms <= 0) return [];
  if (ms % 1000 === 0 && ms <= 900_000) return [`${ms / 1000}s`];
  const unit = units.find(([, size]) => ms % size === 0 && ms / size <= MAX_COUNT);
  return unit === undefined ? [] : [`${ms / unit[1]}${unit[0]}`];
}

function simplestFirst(one: string, other: string): number {
  return one.length - other.length;
}
