import { ownMember } from './own-member.ts';
import { endOfScalar, endOfString, skipWhitespace } from './scanner.ts';

/**
 * Numbers keep their digits: JavaScript cannot hold 9007199254740993 or 1e400. From the proposal "JSON.parse source
 * text access", which V8 has and TypeScript does not know yet.
 */
const { rawJSON, isRawJSON } = JSON as unknown as {
  readonly rawJSON: (text: string) => object;
  readonly isRawJSON: (value: unknown) => boolean;
};

/** Whether a value is a number of {@link parseToRewrite} that keeps its digits. */
export function hasDigits(value: unknown): boolean {
  return isRawJSON(value);
}

/**
 * Finds every number, and text in strings that looks like one after a colon or comma. It looks for a digit first: to
 * look back from each of many spaces would take quadratic time, once V8 has compiled the pattern.
 */
const perhapsNumber = /(?=[-0-9])(?<=(?:^|[[:,])\s*)-?[0-9][0-9.eE+-]*/g;

/**
 * JSON.parse for a value that JSON.stringify will write again: a number that JavaScript would change becomes an object,
 * which is written with the digits that were read.
 */
export function parseToRewrite(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return mayChangeNumbers(text) ? withDigits(text, value) : value;
}

/**
 * The value of a JSON text that JSON.parse has read, where numbers that JavaScript would change keep their digits.
 *
 * @returns undefined if it would change none of them: then the value that JSON.parse returned is exact.
 */
export function parseExactly(text: string): unknown {
  return mayChangeNumbers(text) ? withDigits(text, JSON.parse(text)) : undefined;
}

function mayChangeNumbers(text: string): boolean {
  perhapsNumber.lastIndex = 0;
  for (let found = perhapsNumber.exec(text); found !== null; found = perhapsNumber.exec(text)) {
    if (isChanged(found[0])) return true;
  }
  return false;
}

const integer = /^(?:0|-?[1-9][0-9]{0,14})$/;

function isChanged(number: string): boolean {
  return !integer.test(number) && String(Number(number)) !== number;
}

const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/** A place in what JSON.parse made: in a list by its index, in an object by its key as it is written. */
interface Place {
  /** Of an equal key, a later value may be here: it lacks the member, or the later walk corrects it. */
  readonly container: unknown;
  readonly isObject: boolean;
  index: number;
  key: string;
}

/**
 * Replaces each number that has changed, by a walk through the text along the value that JSON.parse made of it. A
 * reviver would take ten times as long, for every value of a text with one such number.
 */
function withDigits(text: string, value: unknown): unknown {
  const top = { value };
  const open: Place[] = [];
  let place: Place = { container: top, isObject: true, index: 0, key: '"value"' };
  let at = skipWhitespace(text, 0);
  for (;;) {
    const code = text.charCodeAt(at);
    const isObject = code === OPEN_BRACE;
    if (isObject || code === OPEN_BRACKET) {
      open.push(place);
      place = { container: containerAt(place, isObject), isObject, index: 0, key: '' };
      at = skipWhitespace(text, at + 1);
    } else {
      const end = endOfScalar(text, at, code);
      if (code === MINUS || (code >= ZERO && code <= NINE)) putNumber(place, text.slice(at, end));
      at = skipWhitespace(text, end);
    }
    while (text.charCodeAt(at) === CLOSE_BRACE || text.charCodeAt(at) === CLOSE_BRACKET) {
      place = open.pop() as Place;
      at = skipWhitespace(text, at + 1);
    }
    if (open.length === 0) return top.value;
    if (text.charCodeAt(at) === COMMA) {
      place.index += 1;
      at = skipWhitespace(text, at + 1);
    }
    if (!place.isObject) continue;
    const end = endOfString(text, at);
    place.key = text.slice(at, end);
    at = skipWhitespace(text, skipWhitespace(text, end) + ':'.length);
  }
}

function nameOf({ isObject, index, key }: Place): string | number {
  if (!isObject) return index;
  return key.includes('\\') ? (JSON.parse(key) as string) : key.slice(1, -1);
}

function containerAt(place: Place, isObject: boolean): unknown {
  const value = ownMember(place.container, nameOf(place));
  // A list owns `length`, which must not be taken for a member of an object.
  return Array.isArray(value) === isObject ? undefined : value;
}

/** Of two equal keys JSON.parse has the last value: it counts what is written there, also after another number. */
function putNumber(place: Place, number: string): void {
  const name = nameOf(place);
  const found = ownMember(place.container, name);
  if (found !== Number(number) && !isRawJSON(found)) return;
  // JSON.parse has made the member: even `__proto__` is the object's own.
  (place.container as Record<string | number, unknown>)[name] = isChanged(number) ? rawJSON(number) : Number(number);
}
