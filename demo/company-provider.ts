/**
 * The company's OpenID provider of the demo with the front door: oidc-provider as a company would have it. It knows the
 * people and one client, and neither registration nor the resources of MCP servers.
 *
 * @module
 */
import { createServer } from 'node:http';

import { Provider } from 'oidc-provider';

import { accountOf } from './authorization-server/accounts.ts';
import { createInteractions, interactionPath } from './authorization-server/interactions.ts';
import { freshState, serveProvider, showPage } from './authorization-server/provider-parts.ts';
import { errorPage } from './authorization-server/pages.ts';
import { listen, type Running, serveAlone } from './listen.ts';

/** Settings of the provider. */
export interface CompanyProviderOptions {
  /** 0 lets the system choose. */
  readonly port: number;
  /** Default: loopback. */
  readonly host?: string;
  /** Its origin for people and clients; default: `http://127.0.0.1` and its port. */
  readonly issuer?: string;
  /** The callback of its only client, the front door. */
  readonly redirectUri: string;
  /** Default `company-secret`. */
  readonly clientSecret?: string;
}

/**
 * Starts the provider, without sessions.
 *
 * @throws the system's error, `EADDRINUSE` for a busy port.
 */
export async function startCompanyProvider(
  options: CompanyProviderOptions,
): Promise<Running & { readonly issuer: string }> {
  const server = createServer();
  const running = await listen(server, options.port, options.host);
  const issuer = options.issuer ?? running.url;
  const provider = new Provider(issuer, {
    ...freshState(),
    clients: [
      {
        client_id: 'sallyport',
        client_name: 'Sallyport',
        client_secret: options.clientSecret ?? 'company-secret',
        redirect_uris: [options.redirectUri],
      },
    ],
    claims: { openid: ['sub'], profile: ['name', 'role', 'tenant', 'country', 'risk'] },
    // In ID tokens, as most providers have them, and not only at the userinfo endpoint.
    conformIdTokenClaims: false,
    findAccount(_ctx, name) {
      const account = accountOf(name);
      return account && { accountId: name, claims: () => ({ ...account.claims, name: nameOf(name), sub: name }) };
    },
    // The company has decided for its people: no page asks them.
    async loadExistingGrant({ oidc: { client, params, provider: own, session } }) {
      const grant = new own.Grant({ accountId: session?.accountId, clientId: client?.clientId });
      grant.addOIDCScope(String(params?.scope));
      await grant.save();
      return grant;
    },
    ttl: { AccessToken: 3600, Grant: 28_800, IdToken: 3600, Interaction: 3600, Session: 28_800 },
    interactions: { url: (_ctx, { uid }) => interactionPath + uid },
    renderError: (ctx, { error, error_description: description }) => showPage(ctx, errorPage(error, description)),
    features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: false } },
  });
  serveProvider(server, issuer, provider, createInteractions(provider));
  return { issuer, url: running.url, close: () => running.close() };
}

/** The name of a person, as pages show it. */
function nameOf(user: string): string {
  return user.charAt(0).toUpperCase() + user.slice(1);
}

if (import.meta.main) {
  const { CLIENT_SECRET, ISSUER, REDIRECT_URI } = process.env;
  const start = (port: number, host: string): Promise<Running> =>
    startCompanyProvider({
      port,
      host,
      redirectUri: REDIRECT_URI ?? 'http://127.0.0.1:8090/callback/company',
      ...(ISSUER !== undefined && { issuer: ISSUER }),
      ...(CLIENT_SECRET !== undefined && { clientSecret: CLIENT_SECRET }),
    });
  await serveAlone('company provider', 9100, start);
}
