/** A user of the demo's authorization server. */
export interface Account {
  /** The user name, and the `sub` of the user's tokens. */
  readonly name: string;
  /** Shown on the login page: this is a demo. */
  readonly password: string;
  /** The claims of the user's access tokens, in addition to `sub`. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** All users. Their risk scores are on both sides of the demo API's limit of 50. */
export const accounts: readonly Account[] = [
  { name: 'alice', password: 'wonderland', claims: { role: 'trader', tenant: 'acme', country: 'SE', risk: 20 } },
  { name: 'bob', password: 'builder', claims: { role: 'trader', tenant: 'acme', country: 'NO', risk: 72 } },
  { name: 'carol', password: 'christmas', claims: { role: 'auditor', tenant: 'globex', country: 'US', risk: 49 } },
  { name: 'dave', password: 'discovery', claims: { role: 'auditor', tenant: 'globex', country: 'DE', risk: 50 } },
  { name: 'erin', password: 'eldorado', claims: { role: 'supervisor', tenant: 'acme', country: 'SE', risk: 10 } },
];

/** The user of this name. */
export function accountOf(name: string | undefined): Account | undefined {
  return accounts.find((account) => account.name === name);
}
