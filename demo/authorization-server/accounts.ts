/** A user of the demo's authorization server. */
export interface Account {
  /** The user name, and the `sub` of the user's tokens. */
  readonly name: string;
  /** Shown on the login page: this is a demo. */
  readonly password: string;
  /** The claims of the user's access tokens, in addition to `sub`. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The default users. Their risk scores are on both sides of the demo API's limit of 50. */
const demoAccounts: readonly Account[] = [
  { name: 'alice', password: 'wonderland', claims: { role: 'trader', tenant: 'acme', country: 'SE', risk: 20 } },
  { name: 'bob', password: 'builder', claims: { role: 'trader', tenant: 'acme', country: 'NO', risk: 72 } },
  { name: 'carol', password: 'christmas', claims: { role: 'auditor', tenant: 'globex', country: 'US', risk: 49 } },
  { name: 'dave', password: 'discovery', claims: { role: 'auditor', tenant: 'globex', country: 'DE', risk: 50 } },
  { name: 'erin', password: 'eldorado', claims: { role: 'supervisor', tenant: 'acme', country: 'SE', risk: 10 } },
];

/** The users of one authorization server. */
export interface Accounts {
  readonly list: readonly Account[];
  find(name: string): Account | undefined;
  /** The account with this name and password. */
  authenticate(name: string, password: string): Account | undefined;
}

/** The demo's users and further ones. A user of the same name replaces the demo's. */
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
