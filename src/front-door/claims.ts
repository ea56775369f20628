import { memberReader } from '../lib/json/pointer.ts';
import type { ClaimsMapping } from '../model/front-door.ts';

/** Claims as JSON, without those that a mapping leaves out. */
export type MappedClaims = Readonly<Record<string, unknown>>;

/** Reads the claims of a mapping from what a provider asserts. */
export interface ClaimsReader {
  /**
   * The mapped claims. A later source counts where the earlier ones lack a claim. A value that is neither a string, a
   * number, a boolean nor a list of those is left out: a policy could not decide on it.
   */
  read(...sources: readonly Readonly<Record<string, unknown>>[]): MappedClaims;
  /** Whether a source lacks a mapped claim, so that another one may be asked. */
  lacks(source: Readonly<Record<string, unknown>>): boolean;
}

/** Compiles a mapping. */
export function createClaimsReader(mapping: ClaimsMapping): ClaimsReader {
  const readers = [...mapping].map(([claim, source]) => {
    const read = memberReader(source);
    if (read === undefined) throw new TypeError(`${source} is not a JSON Pointer`);
    return [claim, read] as const;
  });
  return {
    read(...sources) {
      const found = readers.flatMap(([claim, read]) => {
        const value = sources.map(read).find((each) => each !== undefined && each !== null);
        return isClaimValue(value) ? [[claim, value] as const] : [];
      });
      // Not by assignment: a claim may be named `__proto__`.
      return Object.fromEntries(found);
    },
    lacks: (source) => readers.some(([, read]) => (read(source) ?? null) === null),
  };
}

function isClaimValue(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isScalar) : isScalar(value);
}

function isScalar(value: unknown): boolean {
  return (
    typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
  );
}
