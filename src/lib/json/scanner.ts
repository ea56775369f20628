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
import { endOfScalar, endOfString, JsonScanError, skipWhitespace } from './tokens.ts';

/** The limits of a text that the gateway reads. */
export interface ScanLimits {
  /** Nested objects and arrays. */
  readonly depth: number;
  /** Members of all objects together. */
  readonly members: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Checks that `text` is one JSON value (RFC 8259) without duplicate keys, keys that are equal after un-escaping or
 * case folding, keys with a NUL in them, keys `__proto__`, lone surrogates, or more nesting and members than `limits`.
 *
 * Runs in one pass with a stack of its own, so that deep nesting cannot overflow the call stack.
 *
 * @throws {JsonScanError}
 */
export function scanJson(text: string, limits: ScanLimits): void {
  /** One entry for each open container: the folded keys seen so far, or null for an array. */
  const open: (Set<string> | null)[] = [];
  /** The innermost open container. */
  let container: Set<string> | null | undefined;
  let members = 0;
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
      if (++members > limits.members) throw new JsonScanError('ambiguous', `more than ${limits.members} members`, at);
      const key = foldedKey(text.slice(at, end));
      // A JavaScript server that copies members one by one would set the prototype: members of the value would then
      // read as members of the object, where no pointer of a policy has seen them.
      if (key === '"__proto__"') throw new JsonScanError('ambiguous', 'a key __proto__', at);
      const others = container.size;
      if (container.add(key).size === others)
        throw new JsonScanError('ambiguous', 'a key that is duplicate, or differs only in case', at);
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
      const end = endOfScalar(text, at, code);
      if (code === QUOTE) requireWellFormed(at, end);
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
        return;
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

  /** A lone surrogate becomes U+FFFD in some parsers, an error in others and itself in JavaScript. */
  function requireWellFormed(start: number, end: number): void {
    if (escape === -1 || escape >= end) return;
    escape = text.indexOf('\\u', end);
    if (!loneSurrogate.test(JSON.parse(text.slice(start, end)) as string)) return;
    throw new JsonScanError('ambiguous', 'a lone surrogate', start);
  }
}

/** Half of a surrogate pair. */
const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Printable ASCII without escapes. */
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
