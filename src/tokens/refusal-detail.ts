/**
 * @module What a refused token says, for the `detail` of its refusal. Its maker chose these values, and of some no
 * signature was verified: they are cut and escaped.
 */

import type { NumericDate } from '../core/model/principal.ts';
import { describeValue } from '../core/lib/json/describe-value.ts';

/** `iss is "https://a"; accepted: "https://b"`. An empty string is a token without that member. */
export function notAccepted(name: string, found: unknown, accepted: Iterable<string>): string {
  return notAcceptedOf(name, found === '' || found === undefined ? [] : [found], accepted);
}

/** {@link notAccepted} for a member with several values: the first three are shown. */
export function notAcceptedOf(name: string, found: readonly unknown[], accepted: Iterable<string>): string {
  const more = found.length > 3 ? ` and ${found.length - 3} more` : '';
  const said = `${name} is ${found.slice(0, 3).map(describeValue).join(', ')}${more}`;
  const expected = [...accepted].map((value) => (value === '' ? 'none' : JSON.stringify(value)));
  return `${found.length === 0 ? `the token has no ${name}` : said}; accepted: ${expected.join(', ')}`;
}

/** `exp is 90 s ago; clock_tolerance is 5 s`. */
export function outOfTime(name: string, date: NumericDate, nowMs: number, toleranceMs: number): string {
  const seconds = Math.round(nowMs / 1000 - date);
  const distance = seconds < 0 ? `${inUnits(-seconds)} ahead` : `${inUnits(seconds)} ago`;
  return `${name} is ${distance}; clock_tolerance is ${toleranceMs / 1000} s`;
}

const units = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const;

/** Seconds in the largest unit of which there are at least two. */
function inUnits(seconds: number): string {
  const [unit, size] = units.find(([, size]) => seconds >= 2 * size) ?? ['s', 1];
  return `${Math.floor(seconds / size)} ${unit}`;
}
