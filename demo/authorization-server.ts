/**
 * The authorization server of the demo and of the tests: a real one, oidc-provider. `docs/internals/requirements.md` lists what
 * it must do. The gateway treats it like any other server.
 *
 * @module
 */
import { createServer } from 'node:http';

import type { ClientMetadata } from 'oidc-provider';

import { createAccounts, type Account } from './authorization-server/accounts.ts';
import { createInteractions } from './authorization-server/interactions.ts';
import { createProvider } from './authorization-server/provider.ts';
import { createResources } from './authorization-server/resources.ts';
import { demoApiClient, gatewayClient } from './authorization-server/clients.ts';
import { type SecurityEvents, transmitSignOuts } from './authorization-server/security-events.ts';
import { listen, serveAlone, type Running } from './listen.ts';
import { serveProvider } from './authorization-server/provider-parts.ts';

/** Settings of an authorization server. Lifetimes are in seconds. */
export interface AuthorizationServerOptions {
  /** 0 lets the system choose. */
  readonly port: number;
  /** Default: loopback. */
  readonly host?: string;
  /**
   * Its origin for users and clients, with which every published URL begins; default: `http://127.0.0.1` and its
   * port.
   */
  readonly issuer?: string;
  /** The resource of the MCP server, with opaque tokens. Also the default for a request without `resource`. */
  readonly mcpResource: string;
  /** Further resources with opaque tokens. */
  readonly extraMcpResources?: readonly string[];
  /** The audience of the API. Its tokens are RS256 JWTs, and no external client gets one. */
  readonly apiAudience: string;
  /** Default 900. */
  readonly accessTokenTtl?: number;
  /** The lifetime of a token with a high-privilege scope; default 60. */
  readonly highPrivilegeTtl?: number;
  /** The secret of the client `gateway`; default `gateway-secret`. */
  readonly gatewaySecret?: string;
  /** Users in addition to the demo's. A user of the same name replaces the demo's. */
  readonly extraAccounts?: readonly Account[];
  /** Trusted clients in addition to `gateway` and `demo-api-client`. */
  readonly extraClients?: readonly ClientMetadata[];
  /** Issues tokens bound to a client's key, RFC 9449, if the client proves possession. Default false. */
  readonly dpop?: boolean;
  /** URLs of accepted client metadata documents. A URL that ends with a slash accepts all below it. Default none. */
  readonly clientDocuments?: readonly string[];
  /** Never grants a client that registered itself more than the scope of its registration. Default false. */
  readonly keepsRegisteredScope?: boolean;
  /** Tells a gateway that a user has signed out. Default: it tells none. */
  readonly events?: SecurityEvents;
  /** Fetches these documents; default: over https, only from public addresses. */
  readonly fetchClientDocument?: typeof fetch;
}

/** A running authorization server. */
export interface AuthorizationServer extends Running {
  readonly issuer: string;
  /** Adds a resource with opaque tokens, for tests that know the address of their MCP server only later. */
  addMcpResource(resource: string): void;
}

/**
 * Starts an authorization server with a new signing key and without sessions.
 *
 * @throws the system's error, `EADDRINUSE` for a busy port.
 */
export async function startAuthorizationServer(options: AuthorizationServerOptions): Promise<AuthorizationServer> {
  const server = createServer();
  const running = await listen(server, options.port, options.host);
  const issuer = options.issuer ?? `http://127.0.0.1:${new URL(running.url).port || 80}`;
  const accounts = createAccounts(options.extraAccounts);
  const highPrivilegeTtl = options.highPrivilegeTtl ?? 60;
  const resources = createResources(
    { kind: 'mcp', uri: options.mcpResource },
    { kind: 'api', uri: options.apiAudience },
    // The gateway's API for approvers.
    { kind: 'api', uri: new URL('/approvals', options.mcpResource).href },
    ...(options.extraMcpResources ?? []).map((uri) => ({ kind: 'mcp' as const, uri })),
  );
  const gateway = gatewayClient(options.gatewaySecret ?? 'gateway-secret');
  const provider = createProvider({
    issuer,
    accounts,
    resources,
    highPrivilegeTtl,
    accessTokenTtl: options.accessTokenTtl ?? 900,
    clients: [gateway, demoApiClient, ...(options.extraClients ?? [])],
    resourceServerIds: new Set([gateway.client_id]),
    dpop: options.dpop ?? false,
    clientDocuments: options.clientDocuments ?? [],
    keepsRegisteredScope: options.keepsRegisteredScope ?? false,
    ...(options.fetchClientDocument && { fetchClientDocument: options.fetchClientDocument }),
  });
  if (options.events !== undefined) await transmitSignOuts(provider, options.events);
  const interact = createInteractions(provider, accounts, highPrivilegeTtl);
  serveProvider(server, issuer, provider, interact);
  return {
    issuer,
    url: running.url,
    close: () => running.close(),
    addMcpResource: (uri) => resources.add({ kind: 'mcp', uri }),
  };
}

if (import.meta.main) {
  const { API_AUDIENCE, EVENTS_TO, GATEWAY_CLIENT_SECRET, ISSUER, MCP_RESOURCE, TRANSMITTER } = process.env;
  const mcpResource = MCP_RESOURCE ?? 'http://127.0.0.1:8080/mcp';
  const gateway = new URL(mcpResource).origin;
  const start = (port: number, host: string): Promise<AuthorizationServer> =>
    startAuthorizationServer({
      port,
      host,
      mcpResource,
      apiAudience: API_AUDIENCE ?? 'https://api.demo.example',
      ...(ISSUER !== undefined && { issuer: ISSUER }),
      ...(EVENTS_TO !== undefined && {
        events: { endpoint: EVENTS_TO, transmitter: TRANSMITTER ?? `http://127.0.0.1:${port}`, audience: gateway },
      }),
      ...(GATEWAY_CLIENT_SECRET !== undefined && { gatewaySecret: GATEWAY_CLIENT_SECRET }),
    });
  await serveAlone('authorization server', 9000, start);
}
