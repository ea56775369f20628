import type { RequestHandler } from '../support/upstream.ts';
import { startWorld, type World } from './gateway.ts';

/** A gateway before one MCP upstream at `/mcp`. */
export interface McpWorld extends Omit<World, 'send'> {
  /** How the upstream answers from now on. */
  handle: RequestHandler;
  /** Sends a JSON-RPC message with a token of the world. */
  send(message: object | undefined, options?: SendOptions): Promise<Response>;
}

export interface SendOptions {
  readonly claims?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
  readonly method?: string;
  readonly token?: string;
  readonly signal?: AbortSignal;
}

interface McpWorldOptions {
  readonly policy?: string;
  /** The lock file of the policy. */
  readonly lock?: string;
  /** More YAML of the route. */
  readonly route?: string;
  /** More YAML at the top level. */
  readonly top?: string;
  /** How the upstream answers at first. */
  readonly handle?: RequestHandler;
}

const anyAnswer: RequestHandler = (_request, response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{}');

/** Starts it. */
export async function startMcpWorld({
  policy = '{}',
  lock = '{}',
  route = '',
  top = '',
  handle = anyAnswer,
}: McpWorldOptions = {}): Promise<McpWorld> {
  // The gateway may ask the upstream before this function returns.
  const started: { world?: McpWorld } = {};
  const base = await startWorld({
    yaml: (issuer, upstream) => `
${top}
authorization_servers:
  main:
    issuer: ${issuer}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: secret }
routes:
  - name: tools
    path: /mcp
    protocol: mcp
    policy: tools
    upstream: { url: ${upstream}/mcp }
    ${route}
`,
    policies: { tools: policy, 'tools.lock': lock },
    upstream: (request, response, body) => (started.world?.handle ?? handle)(request, response, body),
    claims: { aud: 'http://gateway.test/mcp' },
  });
  const world: McpWorld = {
    ...base,
    handle,
    async send(message, { claims, headers, method = 'POST', token, signal } = {}) {
      return fetch(`${base.gateway.url}/mcp`, {
        method,
        headers: {
          authorization: `Bearer ${token ?? (await base.token(claims))}`,
          ...(message !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(message !== undefined && { body: JSON.stringify(message) }),
        ...(signal !== undefined && { signal }),
      });
    },
  };
  started.world = world;
  return world;
}

/** A JSON-RPC request. */
export function request(method: string, params: object = {}): object {
  return { jsonrpc: '2.0', id: 1, method, params };
}

/** A request of MCP 2026-07-28, and the header fields that it needs. */
export function modernRequest(
  method: string,
  params: Readonly<Record<string, unknown>>,
  clientCapabilities: object = {},
): { readonly message: object; readonly headers: Record<string, string> } {
  const revision = '2026-07-28';
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
  };
  const name = params['name'] ?? params['uri'];
  return {
    message: request(method, { ...params, _meta: meta }),
    headers: {
      'mcp-protocol-version': revision,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
  };
}
