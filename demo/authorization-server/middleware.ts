import type { Provider } from 'oidc-provider';

import { passwordAcr } from './dynamic-clients.ts';
import { defaultScope } from './scopes.ts';

/** The endpoints that these rules apply to. */
interface Paths {
  readonly authorization: string;
  readonly registration: string;
  readonly token: string;
  readonly revocation: string;
  readonly jwks: string;
}

/** Adds what oidc-provider lacks: a default scope, CORS for browsers, and one member of the registration's answer. */
export function addDefaults(provider: Provider, paths: Paths): void {
  const openPaths = new Set([paths.registration, paths.token, paths.revocation, paths.jwks]);

  provider.use(async (ctx, next) => {
    const open = openPaths.has(ctx.path) || ctx.path.startsWith('/.well-known/');
    // None of these endpoints reads a cookie, so any page may call them.
    if (open) ctx.set('access-control-allow-origin', '*');
    if (!open || ctx.method !== 'OPTIONS') {
      await next();
      return;
    }
    ctx.set('access-control-allow-methods', 'GET, POST');
    ctx.set('access-control-allow-headers', 'authorization, content-type, mcp-protocol-version');
    ctx.status = 204;
  });

  provider.use(async (ctx, next) => {
    if (ctx.path === paths.authorization && ctx.query.scope === undefined) {
      ctx.query = { ...ctx.query, scope: defaultScope };
    }
    await next();
    // Not one of the client's settings: oidc-provider would then require OpenID Connect in each of its requests.
    if (ctx.path === paths.registration && ctx.status === 201) ctx.body.default_acr_values = [passwordAcr];
  });
}
