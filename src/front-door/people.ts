import type { Account } from 'oidc-provider';
import type { Clock } from '../core/lib/clock.ts';
import { memberReader } from '../core/lib/json/pointer.ts';
import type { ClaimsMapping } from '../ports/front-door.ts';
import { digestOf } from '../core/lib/digest.ts';
import type { Store } from './store.ts';

/** A person, as the provider last described them. */
export interface Person {
  /** Our `sub`. */
  readonly subject: string;
  readonly provider: string;
  readonly claims: MappedClaims;
  /** What people recognize themselves by, for our pages alone. */
  readonly label: string | undefined;
}

/** The people who signed in. */
export interface People {
  find(subject: string): Promise<Person | undefined>;
  save(person: Person): Promise<void>;
}

/** The life of the longest grant, and a day more. */
const PERSON_MS = 15 * 86_400_000;

/** Creates the people that `store` remembers. */
export function createPeople(store: Store, clock: Clock): People {
  return {
    find: async (subject) => (await store.get('Person', digestOf(subject))) as Person | undefined,
    save: (person) =>
      store.set({ kind: 'Person', id: digestOf(person.subject), value: person, expiresAt: clock() + PERSON_MS }),
  };
}

/** A person in the form of oidc-provider. Tokens get the claims by `extraTokenClaims`; ID tokens only `sub`. */
export function accountOf({ subject }: Person): Account {
  return { accountId: subject, claims: () => ({ sub: subject }) };
}

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

/** OpenID Connect Core §2. */
const MAX_LENGTH = 255;

/**
 * Requires that a `sub` names one person: all people with an empty one would be the same person.
 *
 * @throws {Error} for any other value than 1 to 255 characters.
 */
export function requireSubject(subject: unknown): asserts subject is string {
  if (typeof subject === 'string' && subject !== '' && subject.length <= MAX_LENGTH) return;
  throw new Error(`sub is not a text of 1 to ${MAX_LENGTH} characters`);
}
