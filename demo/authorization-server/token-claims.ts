import type { AccessToken, ClientCredentials, KoaContextWithOIDC } from 'oidc-provider';

import type { Accounts } from './accounts.ts';
import { subjectTokenEntity } from './token-exchange.ts';

/** What an access token says beside the standard claims, in a JWT as well as in an introspection answer. */
type TokenClaims = (ctx: KoaContextWithOIDC, token: AccessToken | ClientCredentials) => Record<string, unknown>;

/** Claims of the person, and `ai_agent`: whether the client is one from outside. */
export function createTokenClaims(accounts: Accounts, trustedClients: ReadonlySet<string>): TokenClaims {
  return (ctx, token) => {
    const subject = ctx.oidc.entities[subjectTokenEntity];
    // RFC 8693 §4.1. The token stays marked as an AI agent's, although the gateway asked for it.
    if (subject instanceof ctx.oidc.provider.AccessToken) return { ...subject.extra, act: { sub: token.clientId } };
    const account = 'accountId' in token ? accounts.find(token.accountId) : undefined;
    return { ...account?.claims, ai_agent: !trustedClients.has(token.clientId ?? '') };
  };
}
