/**
 * The authorization server of the demo and of the tests: a real one, oidc-provider. `docs/internals/requirements.md` lists what
 * it must do. The gateway treats it like any other server.
 *
 * @module
 */
import { createServer } from 'node:http';

import type { ClientMetadata } from 'oidc-provider';

import { createInteractions } from './authorization-server/interactions.ts';
import { createProvider, type ProviderChoices } from './authorization-server/provider.ts';
import { createResources } from './authorization-server/resources.ts';
import { demoApiClient, gatewayClient } from './authorization-server/clients.ts';
import { type SecurityEvents, transmitSignOuts } from './authorization-server/security-events.ts';
import { listen, serveAlone, type Running } from './listen.ts';
import { serveProvider } from './authorization-server/provider-parts.ts';

/** Settings of an authorization server. */
export interface AuthorizationServerOptions extends ProviderChoices {
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
  /** The audience of the API. Its tokens are RS256 JWTs, and no external client gets one. */
  readonly apiAudience: string;
  /** Trusted clients in addition to `gateway` and `demo-api-client`. */
  readonly extraClients?: readonly ClientMetadata[];
  /** Tells a gateway that a user has signed out. Default: it tells none. */
  readonly events?: SecurityEvents;
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
  const resources = createResources(
    { kind: 'mcp', uri: options.mcpResource },
    { kind: 'api', uri: options.apiAudience },
    // The gateway's API for approvers.
    { kind: 'api', uri: new URL('/approvals', options.mcpResource).href },
  );
  const clients = [gatewayClient, demoApiClient, ...(options.extraClients ?? [])];
  const provider = createProvider({ ...options, issuer, resources, clients });
  if (options.events !== undefined) await transmitSignOuts(provider, options.events);
  const interact = createInteractions(provider, options.highPrivilegeTtl);
  serveProvider(server, issuer, provider, interact);
  return {
    issuer,
    url: running.url,
    close: () => running.close(),
    addMcpResource: (uri) => resources.add({ kind: 'mcp', uri }),
  };
}

if (import.meta.main) {
  const { API_AUDIENCE, EVENTS_TO, ISSUER, MCP_RESOURCE, TRANSMITTER } = process.env;
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
    });
  await serveAlone('authorization server', 9000, start);
}
