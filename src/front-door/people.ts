import type { Account } from 'oidc-provider';
import type { Clock } from '../lib/clock.ts';
import type { MappedClaims } from './claims.ts';
import type { Store } from './store.ts';
import { digestOf } from './token-ids.ts';

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

/** As long as the longest grant, and a day more. */
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
