/**
 * @module Numbers by their exact decimal value: as JSON.parse returned them, or with their digits, as `lossless.ts`
 * keeps those that JavaScript would change.
 */

import { plainNumber } from './canonical.ts';
import { hasDigits } from './lossless.ts';

/** A number, or an object that keeps the digits of one. */
export type ExactNumber = number | object;

/** Whether a value is a number that a double can hold, if rounded: neither `1e400` nor `1e-400` is one. */
export function isExactNumber(value: unknown): value is ExactNumber {
  if (typeof value === 'number') return Number.isFinite(value);
  if (!hasDigits(value)) return false;
  const text = JSON.stringify(value);
  const rounded = Number(text);
  return Number.isFinite(rounded) && (rounded !== 0 || !/^[^eE]*[1-9]/.test(text));
}

/** Compares two numbers by their exact values: below 0 if `one` is less, 0 if they are equal. */
export function compareNumbers(one: ExactNumber, other: ExactNumber): number {
  const difference = doubleOf(one) - doubleOf(other);
  // Numbers that round to different doubles are in the same order.
  if (difference !== 0 || (typeof one === 'number' && typeof other === 'number')) return difference;
  return compareDigits(digitsOf(one), digitsOf(other));
}

/** The double that is nearest to a number; exact for an integer up to 2^53. */
function doubleOf(number: ExactNumber): number {
  return typeof number === 'number' ? number : Number(JSON.stringify(number));
}

/** A safe integer that a number is exactly; undefined if it is none. */
export function exactInteger(number: ExactNumber): number | undefined {
  const double = doubleOf(number);
  return Number.isSafeInteger(double) && compareNumbers(number, double) === 0 ? double : undefined;
}

/** A number in scientific notation: `0.DIGITS × 10^exponent`. */
interface Digits {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

function digitsOf(number: ExactNumber): Digits {
  const [, sign, digits = '', exponent] = /^(-?)([0-9]*)e(.*)$/.exec(plainNumber(JSON.stringify(number))) ?? [];
  return { isNegative: sign === '-', digits, exponent: Number(exponent) + digits.length };
}

/** Compares two numbers of the same sign. */
function compareDigits(one: Digits, other: Digits): number {
  const size = one.exponent - other.exponent || compareTexts(one.digits, other.digits);
  return one.isNegative ? -size : size;
}

/** Digits after a common beginning make a number greater: they never end with zeros. */
function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
