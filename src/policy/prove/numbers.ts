/**
 * Numbers for every range of doubles that predicates with these bounds and values can tell apart: each point itself,
 * and between two of them an integer and a number that is none, where there is one. Simplest first.
 *
 * Beyond 2^53 no number counts as an integer, because the gateway cannot tell it from its neighbours.
 */
export function representativeNumbers(points: readonly number[]): readonly number[] {
  const key = points.join(' ');
  const before = known.get(key);
  if (before !== undefined) return before;
  const found = numbersAround(points);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(key, found);
  return found;
}

const known = new Map<string, readonly number[]>();
/** The limit on what is remembered. */
const MAX_KNOWN = 1000;

function numbersAround(points: readonly number[]): readonly number[] {
  const sorted = [...new Set([...points, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER])].toSorted((a, b) => a - b);
  const ends = [Number.NEGATIVE_INFINITY, ...sorted, Number.POSITIVE_INFINITY];
  const between = ends.slice(1).flatMap((high, index) => inside(ends[index] ?? 0, high));
  // Too large for a double: JSON can write it, and no predicate takes it for a number.
  const found = new Set([...sorted, ...between, Number.POSITIVE_INFINITY]);
  return [...found].toSorted((one, other) => complexity(one) - complexity(other) || other - one);
}

/** Numbers strictly between two others: one that is an integer and one that is none. */
function inside(low: number, high: number): readonly number[] {
  const candidates = [0, 1, -1, 10, 100, 1000, Math.floor(low) + 1, Math.ceil(high) - 1, 0.5, -0.5, 1e300, -1e300];
  const halves = [low + 0.5, high - 0.5, (low + high) / 2];
  const above = nextUp(low);
  const below = -nextUp(-high);
  const neighbours = [above, nextUp(above), below, -nextUp(-below)];
  const fitting = [...candidates, ...halves, ...neighbours].filter((each) => each > low && each < high);
  const simplest = (wanted: (each: number) => boolean): readonly number[] =>
    fitting
      .filter(wanted)
      .toSorted((one, other) => complexity(one) - complexity(other))
      .slice(0, 1);
  return [...simplest(Number.isSafeInteger), ...simplest((each) => !Number.isSafeInteger(each))];
}

/** The length of a number as it is written: what a reader finds simple. */
function complexity(number: number): number {
  return String(number).length + (Number.isFinite(number) ? 0 : 100);
}

const bits = new DataView(new ArrayBuffer(8));

/** The smallest double above a number. */
function nextUp(number: number): number {
  if (number === Number.POSITIVE_INFINITY) return number;
  if (number === Number.NEGATIVE_INFINITY) return -Number.MAX_VALUE;
  if (number === 0) return Number.MIN_VALUE;
  bits.setFloat64(0, number);
  bits.setBigInt64(0, bits.getBigInt64(0) + (number > 0 ? 1n : -1n));
  return bits.getFloat64(0);
}
