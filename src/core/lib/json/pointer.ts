import { hasCaseVariant, ownMember } from './own-member.ts';

/** Finds a member of an object that JSON.parse returned; `undefined` where there is none. */
export type MemberReader = (object: Readonly<Record<string, unknown>>) => unknown;

/** Finds a place in any value that JSON.parse returned; `undefined` where there is none. */
export type PointerReader = (value: unknown) => unknown;

/**
 * Stands for a place that a pointer cannot reach, because a value on the way is neither an object nor a list with that
 * index. It proves nothing: many servers parse text that looks like JSON, so that `"{\"as_admin\":true}"` may hold the
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
 * Compiles a JSON Pointer that begins with `/`. No policy has the empty pointer, which stands for the whole value.
 *
 * @returns undefined for a malformed pointer, as {@link memberReader}.
 */
export function pointerReader(pointer: string): PointerReader | undefined {
  const keys = keysOf(pointer);
  return keys && ((value) => follow(keys, value));
}

/** Compiles the name of a claim for a condition: like {@link memberReader}, but it finds {@link unreachable} too. */
export function claimReader(name: string): MemberReader | undefined {
  if (!name.startsWith('/')) return memberReader(name);
  const keys = keysOf(name);
  return keys && ((value) => follow(keys, value, { blocked: unreachable }));
}

/**
 * Compiles a JSON Pointer into a value that a caller sent. It finds {@link unreachable} too. A key that differs from
 * the wanted one only in case is an error: a reader that ignores case would find it, so that `present: false` would not
 * hold.
 */
export function strictPointerReader(pointer: string): PointerReader | undefined {
  const keys = keysOf(pointer);
  return keys && ((value) => follow(keys, value, { blocked: unreachable, missed: requireNoVariant }));
}

/** The keys of a JSON Pointer that begins with `/`; undefined for a malformed one, as {@link memberReader}. */
export function keysOf(pointer: string): readonly string[] | undefined {
  if (/~(?![01])/.test(pointer)) return undefined;
  return pointer.slice(1).split('/').map(pointerKey);
}

/** The key that one token of a JSON Pointer names. */
export function pointerKey(token: string): string {
  // In this order, RFC 6901 §4: otherwise `~01` would become `/` instead of `~1`.
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The step of a JSON Pointer to a member: the reverse of {@link pointerKey}, with its slash. */
export function pointerStep(key: string): string {
  return `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function requireNoVariant(object: object, key: string): void {
  if (hasCaseVariant(object, key)) throw new Error(`a key that differs from ${JSON.stringify(key)} only in case`);
}

interface Obstacles {
  /** The result where the next key cannot exist in the value. */
  readonly blocked?: typeof unreachable;
  /** Called where an object lacks the next key. */
  readonly missed?: (object: object, key: string) => void;
}

/** The canonical indexes of a list, and `-`, the place after its end: RFC 6901 §4. */
const listIndex = /^(?:0|[1-9][0-9]*|-)$/;

function follow(keys: readonly string[], value: unknown, { blocked, missed }: Obstacles = {}): unknown {
  let found = value;
  for (const key of keys) {
    if (found === undefined || found === null) return undefined;
    if (typeof found !== 'object') return blocked;
    // Arrays also own `length`, which is not from JSON.
    if (Array.isArray(found) && !listIndex.test(key)) return blocked;
    if (!Object.hasOwn(found, key)) {
      missed?.(found, key);
      return undefined;
    }
    found = Reflect.get(found, key) as unknown;
  }
  return found;
}
