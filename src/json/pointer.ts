import { hasCaseVariant, ownMember } from './own-member.ts';

/** Finds a member in the object that JSON.parse gave; `undefined` where there is none. */
export type MemberReader = (object: Readonly<Record<string, unknown>>) => unknown;

/** Finds a place in any value that JSON.parse gave, or in none; `undefined` where there is none. */
export type PointerReader = (value: unknown) => unknown;

/**
 * Stands for what a pointer could not reach because a value on its way is neither an object nor a list with that index.
 * It is evidence for nothing: many servers parse text that looks like JSON, so `"{\"as_admin\":true}"` may hold the
 * member that the policy wants to be absent.
 */
export const unreachable: unique symbol = Symbol('unreachable');

/**
 * Compiles the name of a claim: beginning with `/` a JSON Pointer (RFC 6901), else the name of a top-level member,
 * dots and all. Reads own members only, so that `constructor` is not found in every token.
 *
 * @returns undefined for a malformed pointer: a `~` that is neither `~0` nor `~1`, RFC 6901 §3.
 */
export function memberReader(name: string): MemberReader | undefined {
  if (!name.startsWith('/')) return (object) => ownMember(object, name);
  return pointerReader(name);
}

/**
 * Compiles a JSON Pointer that begins with `/`; the empty one, which is the whole, is never written in a policy.
 *
 * @returns undefined for a malformed pointer, as {@link memberReader}.
 */
export function pointerReader(pointer: string): PointerReader | undefined {
  const keys = keysOf(pointer);
  return keys && ((value) => follow(keys, value));
}

/** Compiles the name of a claim as {@link memberReader} does, for a condition: it finds {@link unreachable} too. */
export function claimReader(name: string): MemberReader | undefined {
  if (!name.startsWith('/')) return memberReader(name);
  const keys = keysOf(name);
  return keys && ((value) => follow(keys, value, { blocked: unreachable }));
}

/**
 * Compiles a JSON Pointer into what a caller sends. It finds {@link unreachable} too. A key on its way that differs only in case from the one that is
 * meant is an error, not nothing: a reader that ignores case would find it, and `present: false` would not have held.
 */
export function strictPointerReader(pointer: string): PointerReader | undefined {
  const keys = keysOf(pointer);
  return keys && ((value) => follow(keys, value, { blocked: unreachable, missed: requireNoVariant }));
}

function keysOf(pointer: string): readonly string[] | undefined {
  if (/~(?![01])/.test(pointer)) return undefined;
  // In this order, RFC 6901 §4: the other way round `~01` would become `/` instead of `~1`.
  const key = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');
  return pointer.slice(1).split('/').map(key);
}

function requireNoVariant(object: object, key: string): void {
  if (hasCaseVariant(object, key)) throw new Error(`a key that differs from ${JSON.stringify(key)} only in case`);
}

interface Obstacles {
  /** What is found where the way ends at a value that cannot have the next key. */
  readonly blocked?: typeof unreachable;
  /** Called where an object lacks the next key. */
  readonly missed?: (object: object, key: string) => void;
}

/** The indexes of a list in their canonical form, and what stands behind its end: RFC 6901 §4. */
const listIndex = /^(?:0|[1-9][0-9]*|-)$/;

function follow(keys: readonly string[], value: unknown, { blocked, missed }: Obstacles = {}): unknown {
  let found = value;
  for (const key of keys) {
    if (found === undefined || found === null) return undefined;
    if (typeof found !== 'object') return blocked;
    // What else an array owns, `length`, is not from JSON.
    if (Array.isArray(found) && !listIndex.test(key)) return blocked;
    if (!Object.hasOwn(found, key)) {
      missed?.(found, key);
      return undefined;
    }
    found = Reflect.get(found, key) as unknown;
  }
  return found;
}
