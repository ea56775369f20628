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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const numberToken = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const wordToken = /true|false|null/y;
const whitespace = /[ \t\n\r]*/y;
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
  let members = 0;
  let at = skipWhitespace(text, 0);
  let expectKey = false;

  for (;;) {
    if (expectKey) {
      const end = endOfString(text, at);
      const keys = open.at(-1);
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
      open.push(code === OPEN_BRACE ? new Set() : null);
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
        at += 1;
      }
      at = skipWhitespace(text, at);
      const container = open.at(-1);
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

function skipWhitespace(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code > 0x20 || at >= text.length) return at;
  whitespace.lastIndex = at;
  whitespace.test(text);
  return whitespace.lastIndex;
}

function endOfScalar(text: string, at: number, code: number): number {
  if (code === QUOTE) {
    const end = endOfString(text, at);
    requireWellFormed(text.slice(at, end), at);
    return end;
  }
  const token = code === 0x2d || (code >= 0x30 && code <= 0x39) ? numberToken : wordToken;
  token.lastIndex = at;
  if (!token.test(text)) throw new JsonScanError('malformed', 'no JSON value', at);
  return token.lastIndex;
}

function endOfString(text: string, start: number): number {
  if (text.charCodeAt(start) !== QUOTE) throw new JsonScanError('malformed', 'no string', start);
  let at = start + 1;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) {
      escape.lastIndex = at;
      if (!escape.test(text)) throw new JsonScanError('malformed', 'an unknown escape', at);
      at = escape.lastIndex;
      continue;
    }
    // NaN, past the end, is not >= either.
    if (!(code >= 0x20)) throw new JsonScanError('malformed', 'a string without its end', at);
    at += 1;
  }
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
