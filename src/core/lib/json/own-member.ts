import { folded } from '../look-alike.ts';
import { remembered } from '../remembered.ts';

/**
 * A member of an object or list that JSON.parse returned; undefined where the value has none. Reads own members only,
 * so that no value has a `constructor`.
 */
export function ownMember(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Readonly<Record<string | number, unknown>>)[key];
}

/** The value at the end of a path of own members; undefined where the path leads nowhere. */
export function ownMemberAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const key of path) found = ownMember(found, key);
  return found;
}

/** The members of an object that JSON.parse returned. */
export type Members = Readonly<Record<string, unknown>>;

/** Whether a value that JSON.parse returned is an object. */
export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const foldedKey = remembered(folded);

/**
 * Whether an object has a key that differs from `name` only in case. Some parsers take it for the member (Go's do), and
 * would read what the gateway has not checked (CVE-2026-27896).
 */
export function hasCaseVariant(object: object, name: string): boolean {
  const wanted = foldedKey(name);
  const isVariant = ascii.test(wanted) ? foldsTo : (key: string) => foldedKey(key) === wanted;
  return Object.keys(object).some((key) => key !== name && isVariant(key, wanted));
}

/**
 * Whether readers that ignore the case of keys may find another value at the end of a path, or another one in it. An
 * empty path leads to the whole value.
 */
export function hasCaseVariantAt(value: unknown, path: readonly string[]): boolean {
  let found = value;
  for (const key of path) {
    if (isObject(found) && hasCaseVariant(found, key)) return true;
    found = ownMember(found, key);
  }
  return hasVariantKeys(found);
}

/** It recurses as deep as the value nests. */
function hasVariantKeys(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (!Array.isArray(value)) {
    const keys = Object.keys(value);
    if (new Set(keys.map(foldedKey)).size < keys.length) return true;
  }
  return Object.values(value).some(hasVariantKeys);
}

const ascii = /^[ -~]*$/;

/** Whether a key folds to a text in ASCII. It folds no further than they agree: an upstream may send a million keys. */
function foldsTo(key: string, wanted: string): boolean {
  let at = 0;
  for (const character of key) {
    // Of i and a dot above, i is left.
    if (character === DOT_ABOVE && wanted[at - 1] === 'i') continue;
    const part = character < '\u0080' ? character.toLowerCase() : foldedKey(character);
    if (!wanted.startsWith(part, at)) return false;
    at += part.length;
  }
  return at === wanted.length;
}

const DOT_ABOVE = '\u0307';
