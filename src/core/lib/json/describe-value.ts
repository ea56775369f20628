import { hasDigits } from './lossless.ts';
import { unreachable } from './pointer.ts';

/** The longest part of a string that is shown: enough to recognise it, too short for most tokens. */
const maxLength = 64;
const maxUrlLength = 512;
/**
 * An issuer or another URL that has no place for a secret: without user, query and fragment, and with no label of the
 * host and no segment of the path longer than {@link maxLength}. Operators compare issuers, which often differ only at
 * the end.
 */
const plainUrl =
  /^https?:\/\/(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*)(?::[0-9]+)?(?:\/[\w.~%:-]{0,64})*$/;

/**
 * A JSON value as denials show it to operators. Claims may be personal and come from elsewhere: a string is quoted and
 * cut, unless it is a plain URL; an object or array shown by kind and size only.
 */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === unreachable) return unreachableInWords;
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null)
    return hasDigits(value) ? JSON.stringify(value) : `an object of ${Object.keys(value).length}`;
  return `${value as number | boolean | null}`;
}

const unreachableInWords = 'a value on the way to it that is not an object';

function quoted(text: string): string {
  const isWhole = text.length <= maxLength || (text.length <= maxUrlLength && plainUrl.test(text));
  const cut = isWhole ? text : `${text.slice(0, maxLength)}…`;
  // JSON leaves DEL, C1 and bidirectional controls as they are: a terminal that shows the log would obey them.
  return JSON.stringify(cut).replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** The fault of a pointer that does not parse. */
export function malformedPointer(pointer: string): string {
  const rule = 'within a name, write "~" as "~0" and "/" as "~1"';
  return `${describeValue(pointer)} is not a JSON Pointer (RFC 6901): ${rule}`;
}

/** The kind of an argument. Its value is part of the request's body, which the log never shows. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === unreachable) return unreachableInWords;
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `another ${typeof value}`;
}
