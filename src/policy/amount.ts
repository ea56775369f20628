/** Sums stay below this number of units, so that they are exact in doubles, also beside one more amount. */
const MAX_UNITS = 4_500_000_000_000_000;
/** The most decimal places that a unit has. */
const MAX_DECIMALS = 6;

/** Counts amounts in whole units, a power of ten each, so that sums are exact: three times 0.1 is not above 0.3. */
export interface Units {
  /** The most that calls may sum up to. */
  readonly limit: number;
  /** The decimal places of a unit. */
  readonly decimals: number;
  /** An amount that {@link amountOf} accepted; rounded up to a unit. */
  of(amount: number): number;
}

/**
 * The units for sums of at most `most`.
 *
 * @param isInteger Whether amounts are integers.
 * @returns undefined for a limit that is not a multiple of a unit, or too large for exact sums.
 */
export function unitsFor(most: number, isInteger: boolean): Units | undefined {
  let decimals = isInteger ? 0 : MAX_DECIMALS;
  while (scaled(most, decimals) >= MAX_UNITS) decimals -= 1;
  const limit = scaled(most, decimals);
  if (decimals < 0 || !Number.isInteger(limit)) return undefined;
  return { limit, decimals, of: (amount) => Math.ceil(scaled(amount, decimals)) };
}

/** Shifts the decimal point of the shortest text of a number: to multiply 0.07 by 100 would give more than 7. */
function scaled(number: number, decimals: number): number {
  const [digits, exponent = 0] = String(number).split('e');
  return Number(`${digits}e${Number(exponent) + decimals}`);
}

/**
 * The amount of an argument: a finite, non-negative JSON number, or, for integers, also a string of decimal digits.
 *
 * @returns undefined for anything else, which an upstream may read in another way.
 */
export function amountOf(value: unknown, isInteger: boolean): number | undefined {
  const number = isInteger && typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !(number >= 0 && number < Infinity)) return undefined;
  return isInteger && !Number.isSafeInteger(number) ? undefined : number;
}
