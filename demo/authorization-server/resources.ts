import type { ResourceServer } from 'oidc-provider';

import { resourceScope } from './scopes.ts';

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
