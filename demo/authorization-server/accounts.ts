/** A person who can sign in at the demo's authorization server. */
export interface Account {
  /** The user name, and the `sub` of their tokens. */
  readonly name: string;
  /** Shown on the login page: this is a demo. */
  readonly password: string;
  /** What their access tokens say about them, beside `sub`. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Who can sign in when nobody else is configured. The risk scores lie on both sides of the demo API's limit of 50. */
const demoAccounts: readonly Account[] = [
  { name: 'alice', password: 'wonderland', claims: { role: 'trader', tenant: 'acme', country: 'SE', risk: 20 } },
  { name: 'bob', password: 'builder', claims: { role: 'trader', tenant: 'acme', country: 'NO', risk: 72 } },
  { name: 'carol', password: 'christmas', claims: { role: 'auditor', tenant: 'globex', country: 'US', risk: 49 } },
  { name: 'dave', password: 'discovery', claims: { role: 'auditor', tenant: 'globex', country: 'DE', risk: 50 } },
];

/** The people that one authorization server knows. */
export interface Accounts {
  readonly list: readonly Account[];
  find(name: string): Account | undefined;
  /** The account whose name and password these are. */
  authenticate(name: string, password: string): Account | undefined;
}

/** The demo's people and some more; one of the same name replaces the demo's. */
export function createAccounts(more: readonly Account[] = []): Accounts {
  const byName = new Map([...demoAccounts, ...more].map((account) => [account.name, account]));
  return {
    list: [...byName.values()],
    find: (name) => byName.get(name),
    authenticate(name, password) {
      const account = byName.get(name);
      return account?.password === password ? account : undefined;
    },
  };
}
