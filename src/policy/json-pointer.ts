import { folded } from '../lib/folded.ts';

/** Finds a member in the object that JSON.parse gave; `undefined` where there is none. */
export type MemberReader = (object: Readonly<Record<string, unknown>>) => unknown;

/** Finds a place in any value that JSON.parse gave, or in none; `undefined` where there is none. */
export type PointerReader = (value: unknown) => unknown;

interface Step {
  readonly key: string;
  /** Whether `key` is an array index in its one canonical form, RFC 6901 §4. */
  readonly index: boolean;
}

/**
 * Compiles the name of a claim: beginning with `/` a JSON Pointer (RFC 6901), else the name of a top-level member,
 * dots and all. Reads own members only, so that `constructor` is not found in every token.
 *
 * @returns undefined for a malformed pointer: a `~` that is neither `~0` nor `~1`, RFC 6901 §3.
 */
export function memberReader(name: string): MemberReader | undefined {
  if (!name.startsWith('/')) return (object) => (Object.hasOwn(object, name) ? object[name] : undefined);
  return pointerReader(name);
}

/**
 * Compiles a JSON Pointer that begins with `/`; the empty one, which is the whole, is never written in a policy.
 *
 * @returns undefined for a malformed pointer, as {@link memberReader}.
 */
export function pointerReader(pointer: string): PointerReader | undefined {
  if (/~(?![01])/.test(pointer)) return undefined;
  const steps = pointer.slice(1).split('/').map(step);
  return (value) => follow(steps, value);
}

/**
 * Compiles a JSON Pointer into what a caller sends. A key on its way that differs only in case from the one that is
 * meant is an error, not nothing: a reader that ignores case would find it, and `present: false` would not have held.
 */
export function strictPointerReader(pointer: string): PointerReader | undefined {
  if (/~(?![01])/.test(pointer)) return undefined;
  const steps = pointer.slice(1).split('/').map(step);
  return (value) => follow(steps, value, requireNoVariant);
}

function requireNoVariant(object: object, key: string): void {
  const variant = Object.keys(object).some((each) => each.length === key.length && folded(each) === folded(key));
  if (variant) throw new Error(`a key that differs from ${JSON.stringify(key)} only in case`);
}

function step(token: string): Step {
  // In this order, RFC 6901 §4: the other way round `~01` would become `/` instead of `~1`.
  return { key: token.replaceAll('~1', '/').replaceAll('~0', '~'), index: /^(0|[1-9][0-9]*)$/.test(token) };
}

function follow(steps: readonly Step[], value: unknown, missed?: (object: object, key: string) => void): unknown {
  let found = value;
  for (const { key, index } of steps) {
    if (typeof found !== 'object' || found === null) return undefined;
    // `length` is an own property of an array, and not one that JSON gave it.
    if (Array.isArray(found) && !index) return undefined;
    if (!Object.hasOwn(found, key)) {
      missed?.(found, key);
      return undefined;
    }
    found = Reflect.get(found, key) as unknown;
  }
  return found;
}
