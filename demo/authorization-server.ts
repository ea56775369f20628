/**
 * The authorization server of the demo and of the tests, `docs/requirements.md`: a real one, oidc-provider. To the gateway
 * it is somebody else's.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

import type { ClientMetadata } from 'oidc-provider';

import { createAccounts, type Account } from './authorization-server/accounts.ts';
import { createInteractions, interactionPath } from './authorization-server/interactions.ts';
import { createProvider } from './authorization-server/provider.ts';
import { createResources } from './authorization-server/resources.ts';
import { demoApiClient, gatewayClient } from './authorization-server/static-clients.ts';
import { listen, serveAlone, type Running } from './listen.ts';

/** How an authorization server is set up. Lifetimes are in seconds. */
export interface AuthorizationServerOptions {
  /** 0 lets the system choose. */
  readonly port: number;
  /** Default: loopback. */
  readonly host?: string;
  /** What people and clients call it, an origin; default: `http://127.0.0.1` and its port. Every published URL begins so. */
  readonly issuer?: string;
  /** The MCP server as clients name it: its tokens are opaque. It is also what a request without `resource` means. */
  readonly mcpResource: string;
  /** More of the same kind. */
  readonly extraMcpResources?: readonly string[];
  /** The API: its tokens are RS256 JWTs, and no client from outside gets one. */
  readonly apiAudience: string;
  /** Default 900. */
  readonly accessTokenTtl?: number;
  /** Of a token with a high-privilege scope; default 60. */
  readonly highPrivilegeTtl?: number;
  /** Of the client `gateway`; default `gateway-secret`. */
  readonly gatewaySecret?: string;
  /** People beside the demo's, or in place of those with the same name. */
  readonly extraAccounts?: readonly Account[];
  /** Trusted clients beside `gateway` and `demo-api-client`. */
  readonly extraClients?: readonly ClientMetadata[];
  /** Issues tokens that are bound to a client's key, RFC 9449, to clients that prove one. Default false. */
  readonly dpop?: boolean;
  /** Client metadata documents that are accepted as clients; one that ends in a slash allows all below it. Default none. */
  readonly clientDocuments?: readonly string[];
  /** Fetches those; default: over https, from public addresses only. */
  readonly fetchClientDocument?: typeof fetch;
}

/** An authorization server that is up. */
export interface AuthorizationServer extends Running {
  readonly issuer: string;
  /** Issues opaque tokens for one more MCP server, for tests that learn its address late. */
  addMcpResource(resource: string): void;
}

/**
 * Starts an authorization server with a signing key of its own and nobody's session.
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
    ...(options.fetchClientDocument && { fetchClientDocument: options.fetchClientDocument }),
  });
  const interact = createInteractions(provider, accounts, highPrivilegeTtl);
  const authorize = provider.callback();
  server.on('request', (request, response) => void serve(issuer, interact, authorize, request, response));
  return {
    issuer,
    url: running.url,
    close: () => running.close(),
    addMcpResource: (uri) => resources.add({ kind: 'mcp', uri }),
  };
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

async function serve(
  issuer: string,
  interact: Handler,
  authorize: Handler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = request.url ?? '';
  if (path === '/healthz') return void response.writeHead(200).end('ok\n');
  if (!path.startsWith('/')) return void response.writeHead(400).end();
  announceIssuer(request, issuer);
  try {
    await (path.startsWith(interactionPath) ? interact : authorize)(request, response);
  } catch (error) {
    console.error(error);
    if (!response.headersSent) response.writeHead(500);
    response.end();
  }
}

/**
 * oidc-provider builds its URLs from the request's host. Whoever reaches us by another name, as the gateway does in a
 * network of containers, must read the same metadata, and nobody may put a host of theirs in it.
 */
function announceIssuer(request: IncomingMessage, issuer: string): void {
  const { host, protocol } = new URL(issuer);
  delete request.headers['x-forwarded-host'];
  request.headers.host = host;
  request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
}

function isBusyPort(error: unknown): error is Error & { readonly address: string; readonly port: number } {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

if (import.meta.main) {
  const { API_AUDIENCE, GATEWAY_CLIENT_SECRET, ISSUER, MCP_RESOURCE } = process.env;
  const start = (port: number, host: string): Promise<AuthorizationServer> =>
    startAuthorizationServer({
      port,
      host,
      mcpResource: MCP_RESOURCE ?? 'http://127.0.0.1:8080/mcp',
      apiAudience: API_AUDIENCE ?? 'https://api.demo.example',
      ...(ISSUER !== undefined && { issuer: ISSUER }),
      ...(GATEWAY_CLIENT_SECRET !== undefined && { gatewaySecret: GATEWAY_CLIENT_SECRET }),
    });
  try {
    await serveAlone('authorization server', 9000, start);
  } catch (error) {
    if (!isBusyPort(error)) throw error;
    console.error(`authorization server: ${error.address}:${error.port} is in use; choose another port with PORT`);
    process.exitCode = 1;
  }
}
