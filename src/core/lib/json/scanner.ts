/**
 * Checks that every parser reads a JSON text alike.
 *
 * JSON.parse takes the last of two equal keys, others the first; Go ignores the case of keys; some parsers un-escape
 * before they compare, some after. The policy could decide on one reading and the upstream execute another
 * (CVE-2026-27896), so that the gateway refuses such a text before it parses it.
 *
 * @module
 */

import { folded } from '../look-alike.ts';
import { remembered } from '../remembered.ts';

/** Why a text is refused, and at which offset in UTF-16 code units. */
export class JsonScanError extends Error {
  override readonly name = 'JsonScanError';
  /** `malformed`: not JSON by RFC 8259. `ambiguous`: JSON that two parsers may read differently, or beyond a limit. */
  readonly kind: 'malformed' | 'ambiguous';
  /** The limit that the text is beyond; undefined: it has another fault. */
  readonly limit: keyof ScanLimits | undefined;

  constructor(kind: 'malformed' | 'ambiguous', what: string, offset: number, limit?: keyof ScanLimits) {
    super(`${what} at offset ${offset}`);
    this.kind = kind;
    this.limit = limit;
  }
}

/** Bounds on a JSON text. */
export interface ScanLimits {
  /** Nested objects and arrays. */
  readonly depth: number;
  /** Members of all objects and elements of all arrays together. */
  readonly members: number;
  /** The length of a key, in UTF-16 code units. */
  readonly keyLength: number;
  /** The length of all keys with other characters than ASCII together, once they are folded. */
  readonly foldedKeys: number;
}

/** Any two numbers of this many digits are different doubles. */
const EXACT_LENGTH = 15;

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const CAPITAL_E = 0x45;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LETTER_E = 0x65;
const LETTER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** What a text has that JSON.parse does not show. */
export interface ScanResult {
  /** Whether keys in the lenient value are equal after un-escaping or case folding. */
  readonly hasVariants: boolean;
  /** Whether JavaScript may change a number: it has an exponent, or more characters than a double has digits. */
  readonly hasLongNumbers: boolean;
}

/**
 * Checks that `text` is one JSON value (RFC 8259) without duplicate keys, keys that are equal after un-escaping or
 * case folding, keys with a NUL in them, keys `__proto__`, lone surrogates, or more nesting, members and elements than
 * `limits`.
 *
 * Runs in one pass with a stack of its own, so that deep nesting cannot overflow the call stack.
 *
 * @param lenientBelow Keys from the top. In the value there, keys may be equal after un-escaping or case folding.
 * @throws {JsonScanError}
 */
export function scanJson(text: string, limits: ScanLimits, lenientBelow: readonly string[] = []): ScanResult {
  /** An entry for each open container: the folded keys seen so far, or null for an array. */
  const open: (Set<string> | null)[] = [];
  /** The innermost open container. */
  let container: Set<string> | null | undefined;
  let members = 0;
  let foldedLength = 0;
  const lenientPath = lenientBelow.map((key) => `"${folded(key)}"`);
  /** How many keys of `lenientPath` lead to the current place. */
  let followed = 0;
  let hasVariants = false;
  let hasLongNumbers = false;
  let at = skipWhitespace(text, 0);
  let expectKey = false;
  /** Where the next `\u` stands. Strings before it cannot hold a lone surrogate, and most texts have none. */
  let escape = text.indexOf('\\u');

  for (;;) {
    if (expectKey) {
      const end = endOfString(text, at);
      requireWellFormed(at, end);
      if (container === null || container === undefined)
        throw new JsonScanError('malformed', 'a key outside an object', at);
      if (end - at - 2 > limits.keyLength)
        throw new JsonScanError('ambiguous', `a key of more than ${limits.keyLength} characters`, at);
      const literal = text.slice(at, end);
      const key = foldedKey(literal);
      if (!plainKey.test(literal) && (foldedLength += key.length) > limits.foldedKeys)
        throw new JsonScanError('ambiguous', `keys beyond ASCII of more than ${limits.foldedKeys} characters`, at);
      // A JavaScript server that copies members one by one would set the prototype: members of the value would then
      // read as members of the object, where no pointer of a policy has seen them.
      if (key === '"__proto__"') throw new JsonScanError('ambiguous', 'a key __proto__', at);
      const depth = open.length;
      if (depth <= lenientPath.length && followed >= depth - 1)
        followed = key === lenientPath[depth - 1] ? depth : depth - 1;
      const others = container.size;
      if (container.add(key).size === others) {
        const isLenient = depth > lenientPath.length && followed > 0 && followed === lenientPath.length;
        if (!isLenient) throw new JsonScanError('ambiguous', 'a key that is duplicate, or differs only in case', at);
        hasVariants = true;
      }
      at = skipWhitespace(text, end);
      if (text.charCodeAt(at) !== COLON) throw new JsonScanError('malformed', 'a key without a colon', at);
      at = skipWhitespace(text, at + 1);
      expectKey = false;
    }

    if (container !== undefined && ++members > limits.members)
      throw new JsonScanError('ambiguous', `more than ${limits.members} members and elements`, at, 'members');
    const code = text.charCodeAt(at);
    let closed = false;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (open.length >= limits.depth)
        throw new JsonScanError('ambiguous', `nested deeper than ${limits.depth}`, at, 'depth');
      container = code === OPEN_BRACE ? new Set() : null;
      open.push(container);
      at = skipWhitespace(text, at + 1);
      const empty = text.charCodeAt(at) === (code === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET);
      if (!empty) {
        expectKey = code === OPEN_BRACE;
        continue;
      }
      closed = true;
    } else {
      const end = endOfScalar(text, at, code);
      if (code === QUOTE) requireWellFormed(at, end);
      else hasLongNumbers ||= (code === MINUS || code <= NINE) && isLong(at, end);
      at = end;
    }

    for (;;) {
      if (closed) {
        open.pop();
        container = open.at(-1);
        at += 1;
      }
      at = skipWhitespace(text, at);
      if (container === undefined) {
        if (at !== text.length) throw new JsonScanError('malformed', 'something after the value', at);
        return { hasVariants, hasLongNumbers };
      }
      const next = text.charCodeAt(at);
      if (next === COMMA) {
        at = skipWhitespace(text, at + 1);
        expectKey = container !== null;
        break;
      }
      if (next !== (container === null ? CLOSE_BRACKET : CLOSE_BRACE)) {
        throw new JsonScanError('malformed', 'neither a comma nor the end of the container', at);
      }
      closed = true;
    }
  }

  function isLong(start: number, end: number): boolean {
    if (end - start > EXACT_LENGTH) return true;
    for (let index = start; index < end; index += 1) {
      const code = text.charCodeAt(index);
      if (code === LETTER_E || code === CAPITAL_E) return true;
    }
    return false;
  }

  /** A lone surrogate becomes U+FFFD in some parsers, an error in others and itself in JavaScript. */
  function requireWellFormed(start: number, end: number): void {
    if (escape === -1 || escape >= end) return;
    escape = text.indexOf('\\u', end);
    if (!loneSurrogate.test(JSON.parse(text.slice(start, end)) as string)) return;
    throw new JsonScanError('ambiguous', 'a lone surrogate', start);
  }
}

const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

const plainKey = /^"[ !#-[\]-~]*"$/;

/** The key as the most lenient reader sees it: un-escaped, and folded as Go's encoding/json does (ſ is s, K is k). */
const foldedKey = remembered((literal) => {
  if (plainKey.test(literal)) return literal.toLowerCase();
  const key = literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
  if (loneSurrogate.test(key)) throw new JsonScanError('ambiguous', 'a lone surrogate in a key', 0);
  // In C a string ends at a NUL, and `name\u0000x` reads as `name`.
  if (key.includes('\0')) throw new JsonScanError('ambiguous', 'a NUL in a key', 0);
  return `"${folded(key)}"`;
});

/** The characters of a string that are checked one by one, before a regular expression takes over. */
const SHORT = 32;
const plainRun = /[ !#-[\]-\uffff]*/y;
const escapable = tableOf('"\\/bfnrt');
const hexDigit = tableOf('0123456789abcdefABCDEF');
const words = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]));

/** The end of the whitespace at `start`, if any: RFC 8259 §2. */
export function skipWhitespace(text: string, start: number): number {
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== SPACE && code !== LINE_FEED && code !== CARRIAGE_RETURN && code !== TAB) return at;
    at += 1;
  }
}

/** The end of the string, number or word at `at`, whose first character is `code`. @throws {JsonScanError} */
export function endOfScalar(text: string, at: number, code: number): number {
  if (code === QUOTE) return endOfString(text, at);
  if (code === MINUS || isDigit(code)) return endOfNumber(text, at);
  const word = words.get(code);
  if (word === undefined || !text.startsWith(word, at)) throw new JsonScanError('malformed', 'no JSON value', at);
  return at + word.length;
}

/** RFC 8259 §6. Regular expressions would take twice as long for a megabyte of short values. */
function endOfNumber(text: string, start: number): number {
  let at = text.charCodeAt(start) === MINUS ? start + 1 : start;
  at = text.charCodeAt(at) === ZERO ? at + 1 : endOfDigits(text, at);
  if (text.charCodeAt(at) === POINT) at = endOfDigits(text, at + 1);
  const code = text.charCodeAt(at);
  if (code !== LETTER_E && code !== CAPITAL_E) return at;
  const sign = text.charCodeAt(at + 1);
  return endOfDigits(text, sign === PLUS || sign === MINUS ? at + 2 : at + 1);
}

function endOfDigits(text: string, start: number): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at += 1;
  if (at === start) throw new JsonScanError('malformed', 'a number without its digits', at);
  return at;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

/** The end of the string at `start`, after its closing quote: RFC 8259 §7. @throws {JsonScanError} */
export function endOfString(text: string, start: number): number {
  if (text.charCodeAt(start) !== QUOTE) throw new JsonScanError('malformed', 'no string', start);
  let at = start + 1;
  for (;;) {
    // A loop is faster for few characters; for a megabyte it would block the process for milliseconds.
    const near = at + SHORT;
    let code = text.charCodeAt(at);
    while (code >= 0x20 && code !== QUOTE && code !== BACKSLASH && at < near) code = text.charCodeAt(++at);
    if (at === near) {
      plainRun.lastIndex = at;
      plainRun.test(text);
      at = plainRun.lastIndex;
      code = text.charCodeAt(at);
    }
    if (code === QUOTE) return at + 1;
    // NaN, past the end, is no backslash either.
    if (code !== BACKSLASH) throw new JsonScanError('malformed', 'a string without its end', at);
    at = endOfEscape(text, at);
  }
}

function endOfEscape(text: string, start: number): number {
  const code = text.charCodeAt(start + 1);
  if (escapable[code] === 1) return start + 2;
  const end = start + 6;
  let at = start + 2;
  if (code === LETTER_U) while (at < end && hexDigit[text.charCodeAt(at)] === 1) at += 1;
  if (at < end) throw new JsonScanError('malformed', 'an unknown escape', start);
  return end;
}

/** A table with 1 at the code of each character: a regular expression for each escape takes twice as long. */
function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(128);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}

/**
 * Whether an object in a JSON text has two equal members, of which some parsers take the first and others the last.
 *
 * @param value What JSON.parse returned for the text.
 */
export function hasDuplicateMembers(text: string, value: unknown): boolean {
  let written = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    at = endOfString(text, at);
    if (text[skipWhitespace(text, at)] === ':') written += 1;
  }
  return written > membersOf(value);
}

/** The number of members of all objects in a value. It does not recurse: a text may nest deeper than the call stack. */
function membersOf(value: unknown): number {
  const open = [value];
  let members = 0;
  for (let found = open.pop(); found !== undefined; found = open.pop()) {
    if (typeof found !== 'object' || found === null) continue;
    const inner = Object.values(found);
    if (!Array.isArray(found)) members += inner.length;
    for (const each of inner) open.push(each);
  }
  return members;
}
