import type { AccessToken, ClientCredentials, KoaContextWithOIDC } from 'oidc-provider';

import type { Accounts } from './accounts.ts';
import { subjectTokenEntity } from './token-exchange.ts';

/** The claims of an access token in addition to the standard ones, in a JWT and in an introspection answer. */
type TokenClaims = (ctx: KoaContextWithOIDC, token: AccessToken | ClientCredentials) => Record<string, unknown>;

/** The claims of the user, and `ai_agent`: whether the client is external. */
export function createTokenClaims(accounts: Accounts, trustedClients: ReadonlySet<string>): TokenClaims {
  return (ctx, token) => {
    const subject = ctx.oidc.entities[subjectTokenEntity];
    // RFC 8693 §4.1. The token keeps the mark of an AI agent, although the gateway requested it.
    if (subject instanceof ctx.oidc.provider.AccessToken) return { ...subject.extra, act: { sub: token.clientId } };
    const account = 'accountId' in token ? accounts.find(token.accountId) : undefined;
    return { ...account?.claims, ai_agent: !trustedClients.has(token.clientId ?? '') };
  };
}
