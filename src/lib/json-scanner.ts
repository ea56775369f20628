/**
 * Finds out whether a JSON text reads the same to every parser.
 *
 * JSON.parse takes the last of two equal keys, others the first; Go compares keys without regard to case; some
 * un-escape before they compare, some after. Whatever depends on that could be decided on in one meaning and executed
 * in another (CVE-2026-27896), so such a text is refused before it is parsed.
 *
 * @module
 */

import { folded } from './folded.ts';

/** The bounds of a text that is still read. */
export interface ScanLimits {
  /** Objects and arrays inside each other. */
  readonly depth: number;
  /** Members of all objects together. */
  readonly members: number;
}

/** Why a text is refused; `offset` counts UTF-16 code units. */
export class JsonScanError extends Error {
  override readonly name = 'JsonScanError';
  /** `malformed`: not JSON by RFC 8259. `ambiguous`: JSON that two parsers may read differently, or beyond a limit. */
  readonly kind: 'malformed' | 'ambiguous';
  readonly offset: number;

  constructor(kind: 'malformed' | 'ambiguous', what: string, offset: number) {
    super(`${what} at offset ${offset}`);
    this.kind = kind;
    this.offset = offset;
  }
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const CAPITAL_E = 0x45;
const LETTER_E = 0x65;
const LETTER_U = 0x75;

/** Up to so many characters of a string are looked at one by one. */
const SHORT = 32;
/** All but controls, the quote and the backslash. */
const plainRun = /[ !#-[\]-\uffff]*/y;
const escapable = tableOf('"\\/bfnrt');
const hexDigit = tableOf('0123456789abcdefABCDEF');
const words = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]));
const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/**
 * Checks that `text` is one JSON value (RFC 8259) without duplicate keys, keys that are equal after un-escaping or
 * case folding, keys with a NUL in them, lone surrogates, or more nesting and members than `limits`.
 *
 * Runs in one pass and on a stack of its own, so that deep nesting cannot overflow ours.
 *
 * @throws {JsonScanError}
 */
export function scanJson(text: string, limits: ScanLimits): void {
  /** One entry an open container: the folded keys seen so far, or null for an array. */
  const open: (Set<string> | null)[] = [];
  /** The innermost. */
  let container: Set<string> | null | undefined;
  let members = 0;
  let at = skipWhitespace(text, 0);
  let expectKey = false;

  for (;;) {
    if (expectKey) {
      const end = endOfString(text, at);
      const keys = container;
      if (keys === null || keys === undefined) throw new JsonScanError('malformed', 'a key outside an object', at);
      if (++members > limits.members) throw new JsonScanError('ambiguous', `more than ${limits.members} members`, at);
      const key = foldedKey(text.slice(at, end));
      if (keys.has(key)) throw new JsonScanError('ambiguous', 'a key that stands twice, or differs only in case', at);
      keys.add(key);
      at = skipWhitespace(text, end);
      if (text.charCodeAt(at) !== COLON) throw new JsonScanError('malformed', 'a key without a colon', at);
      at = skipWhitespace(text, at + 1);
      expectKey = false;
    }

    const code = text.charCodeAt(at);
    let closed = false;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (open.length >= limits.depth) throw new JsonScanError('ambiguous', `nested deeper than ${limits.depth}`, at);
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
      at = endOfScalar(text, at, code);
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
        return;
      }
      const next = text.charCodeAt(at);
      if (next === COMMA) {
        at = skipWhitespace(text, at + 1);
        expectKey = container !== null;
        break;
      }
      if (next !== (container === null ? CLOSE_BRACKET : CLOSE_BRACE)) {
        throw new JsonScanError('malformed', 'neither a comma nor the end of its container', at);
      }
      closed = true;
    }
  }
}

function skipWhitespace(text: string, start: number): number {
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== SPACE && code !== LINE_FEED && code !== CARRIAGE_RETURN && code !== TAB) return at;
    at += 1;
  }
}

function endOfScalar(text: string, at: number, code: number): number {
  if (code === QUOTE) return endOfString(text, at);
  if (code === MINUS || isDigit(code)) return endOfNumber(text, at);
  const word = words.get(code);
  if (word === undefined || !text.startsWith(word, at)) throw new JsonScanError('malformed', 'no JSON value', at);
  return at + word.length;
}

/** RFC 8259 §6. By hand, as all that follows: a megabyte of short values takes several times as long by expressions. */
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

function endOfString(text: string, start: number): number {
  if (text.charCodeAt(start) !== QUOTE) throw new JsonScanError('malformed', 'no string', start);
  let at = start + 1;
  let isEscaped = false;
  for (;;) {
    // Few characters are faster than a call, of many a megabyte would stop the process for milliseconds.
    const near = at + SHORT;
    let code = text.charCodeAt(at);
    while (code >= 0x20 && code !== QUOTE && code !== BACKSLASH && at < near) code = text.charCodeAt(++at);
    if (at === near) {
      plainRun.lastIndex = at;
      plainRun.test(text);
      at = plainRun.lastIndex;
      code = text.charCodeAt(at);
    }
    if (code === QUOTE) {
      if (isEscaped) requireWellFormed(text.slice(start, at + 1), start);
      return at + 1;
    }
    // NaN, past the end, is no backslash either.
    if (code !== BACKSLASH) throw new JsonScanError('malformed', 'a string without its end', at);
    isEscaped = true;
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

/** A lone surrogate becomes U+FFFD in some parsers, an error in others and itself in JavaScript. */
function requireWellFormed(literal: string, at: number): void {
  if (!literal.includes('\\u')) return;
  if (loneSurrogate.test(JSON.parse(literal) as string)) throw new JsonScanError('ambiguous', 'a lone surrogate', at);
}

/** The key as the most forgiving reader sees it: un-escaped, and folded as Go's encoding/json folds (ſ is s, K is k). */
function foldedKey(literal: string): string {
  if (simpleKey.test(literal)) return literal;
  const key = literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
  if (loneSurrogate.test(key)) throw new JsonScanError('ambiguous', 'a lone surrogate in a key', 0);
  // Where a string ends for C: `name\u0000x` is `name` to it.
  if (key.includes('\0')) throw new JsonScanError('ambiguous', 'a NUL in a key', 0);
  return `"${folded(key)}"`;
}

const simpleKey = /^"[a-z0-9_$./:-]*"$/;

/** 1 for each of the characters, by its code; what a regular expression for each escape would cost is ten times as much. */
function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(128);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}
