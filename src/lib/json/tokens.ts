/**
 * The tokens of a JSON text besides its containers: strings, numbers, words and the whitespace between them.
 *
 * @module
 */

/** Why a text is refused, and at which offset in UTF-16 code units. */
export class JsonScanError extends Error {
  override readonly name = 'JsonScanError';
  /** `malformed`: not JSON by RFC 8259. `ambiguous`: JSON that two parsers may read differently, or beyond a limit. */
  readonly kind: 'malformed' | 'ambiguous';

  constructor(kind: 'malformed' | 'ambiguous', what: string, offset: number) {
    super(`${what} at offset ${offset}`);
    this.kind = kind;
  }
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const CAPITAL_E = 0x45;
const LETTER_E = 0x65;
const LETTER_U = 0x75;

/** The characters of a string that are checked one by one, before a regular expression takes over. */
const SHORT = 32;
/** All characters but controls, the quote and the backslash. */
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
