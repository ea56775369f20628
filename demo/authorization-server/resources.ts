import type { ResourceServer } from 'oidc-provider';

/** A scope that a user may grant to a client. */
export interface ScopeRule {
  /** Its text on the consent page. */
  readonly description: string;
  /** Whether a token with it lives only for a minute; shown on the consent page. */
  readonly highPrivilege: boolean;
  /** Whether a client that registered itself may request it. */
  readonly dynamicClients: boolean;
}

/** Every scope of the demo by its name. `openid` belongs to OpenID Connect and grants nothing at a resource. */
export const scopeRules: ReadonlyMap<string, ScopeRule> = new Map([
  ['openid', { description: 'Know who you are', highPrivilege: false, dynamicClients: true }],
  ['read', { description: 'Look at your accounts and prices', highPrivilege: false, dynamicClients: true }],
  ['write', { description: 'Change your settings', highPrivilege: false, dynamicClients: true }],
  ['payments', { description: 'Move your money', highPrivilege: true, dynamicClients: true }],
  ['admin', { description: 'Administer the service', highPrivilege: true, dynamicClients: false }],
]);

/** The scope of an authorization request that names none, RFC 6749 §3.3. */
export const defaultScope = 'read';

/** The scopes of a resource, separated by spaces. */
const resourceScope = [...scopeRules.keys()].filter((name) => name !== 'openid').join(' ');

/** All scopes that a client which registered itself can get, separated by spaces. */
export const dynamicClientScope = [...scopeRules]
  .filter(([, rule]) => rule.dynamicClients)
  .map(([name]) => name)
  .join(' ');

/** Whether a token with these scopes must be short-lived. */
export function isHighPrivilege(scopes: Iterable<string>): boolean {
  return [...scopes].some((name) => scopeRules.get(name)?.highPrivilege);
}

/** The known scopes in a list that is separated by spaces. */
export function knownScopes(scope: unknown): string[] {
  return typeof scope === 'string' ? scope.split(' ').filter((name) => scopeRules.has(name)) : [];
}

/** A resource of tokens. `mcp`: opaque tokens, for every client. `api`: JWTs, never for an external client. */
export interface Resource {
  /** The resource indicator (RFC 8707) and, byte for byte, the token's `aud`. */
  readonly uri: string;
  readonly kind: 'mcp' | 'api';
}

/** The resource servers that one authorization server issues tokens for. */
export interface Resources {
  /** The resource of a request without `resource`. */
  readonly default: Resource;
  /** The resource that an indicator names; `https://host` and `https://host/` are the same, other paths are not. */
  find(indicator: string): Resource | undefined;
  add(resource: Resource): void;
}

/** Starts with one or more resources; the first is the default. */
export function createResources(first: Resource, ...more: readonly Resource[]): Resources {
  const known = [first, ...more];
  return {
    default: first,
    find: (indicator) => known.find(({ uri }) => sameUri(uri, indicator)),
    add: (resource) => void known.push(resource),
  };
}

/** A resource in the form of oidc-provider. */
export function resourceServer({ uri, kind }: Resource): ResourceServer {
  return {
    audience: uri,
    scope: resourceScope,
    ...(kind === 'api'
      ? { accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }
      : { accessTokenFormat: 'opaque' }),
  };
}

// The official clients write an indicator as `new URL(…).href`, which gives a bare origin a slash.
function sameUri(uri: string, indicator: string): boolean {
  return uri === indicator || (URL.canParse(indicator) && new URL(uri).href === new URL(indicator).href);
}
