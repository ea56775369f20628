/** What a person may allow a client to do. */
export interface ScopeRule {
  /** For the consent page: what the client may do with it. */
  readonly description: string;
  /** A token that carries it lives for a minute, and the consent page says so. */
  readonly highPrivilege: boolean;
  /** Whether a client that registered itself may ever ask for it. */
  readonly dynamicClients: boolean;
}

/** Every scope of the demo by its name. `openid` is OpenID Connect's own and opens nothing at a resource. */
export const scopeRules: ReadonlyMap<string, ScopeRule> = new Map([
  ['openid', { description: 'Know who you are', highPrivilege: false, dynamicClients: true }],
  ['read', { description: 'Look at your accounts and prices', highPrivilege: false, dynamicClients: true }],
  ['write', { description: 'Change your settings', highPrivilege: false, dynamicClients: true }],
  ['payments', { description: 'Move your money', highPrivilege: true, dynamicClients: true }],
  ['admin', { description: 'Administer the service', highPrivilege: true, dynamicClients: false }],
]);

/** The scope of an authorization request that names none, RFC 6749 §3.3. */
export const defaultScope = 'read';

/** The scopes that a resource knows, as a list with spaces. */
export const resourceScope = [...scopeRules.keys()].filter((name) => name !== 'openid').join(' ');

/** All that a client which registered itself can ever be granted, as a list with spaces. */
export const dynamicClientScope = [...scopeRules]
  .filter(([, rule]) => rule.dynamicClients)
  .map(([name]) => name)
  .join(' ');

/** Whether a token with these scopes must be short-lived. */
export function isHighPrivilege(scopes: Iterable<string>): boolean {
  return [...scopes].some((name) => scopeRules.get(name)?.highPrivilege);
}

/** The names of a list with spaces, without those that no scope of ours has. */
export function knownScopes(scope: unknown): string[] {
  return typeof scope === 'string' ? scope.split(' ').filter((name) => scopeRules.has(name)) : [];
}
