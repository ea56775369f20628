import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

type Handle = NonNullable<Parameters<typeof startUpstream>[0]>;

/** A gateway before one recording MCP upstream at /mcp, with an issuer that signs what it is asked to. */
export interface McpWorld {
  readonly gateway: TestGateway;
  readonly issuer: Issuer;
  readonly upstream: Upstream;
  /** What the upstream answers from now on. */
  handle: Handle;
  token(claims?: Record<string, unknown>): Promise<string>;
  send(message: object | undefined, options?: SendOptions): Promise<Response>;
  close(): Promise<void>;
}

export interface SendOptions {
  readonly claims?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
  readonly method?: string;
  readonly token?: string;
  readonly signal?: AbortSignal;
}

/** Starts it; `route` and `top` are more YAML for the route and the top level. */
export async function startMcpWorld({ policy = '{}', route = '', top = '' } = {}): Promise<McpWorld> {
  const issuer = await startIssuer();
  const upstream = await startUpstream((request, response, body) => world.handle(request, response, body));
  const gateway = await startTestGateway({
    yaml: `
${top}
authorization_servers:
  main:
    issuer: ${issuer.url}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: secret }
routes:
  - name: tools
    path: /mcp
    protocol: mcp
    policy: tools
    upstream: { url: ${upstream.url}/mcp }
    ${route}
`,
    policies: { tools: policy },
  });
  const token = (claims: Record<string, unknown> = {}): Promise<string> =>
    issuer.sign({ aud: 'http://gateway.test/mcp', ...claims });
  const world: McpWorld = {
    gateway,
    issuer,
    upstream,
    handle: (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
    token,
    async send(message, { claims, headers, method = 'POST', token: given, signal } = {}) {
      return fetch(`${gateway.url}/mcp`, {
        method,
        headers: {
          authorization: `Bearer ${given ?? (await token(claims))}`,
          ...(message !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(message !== undefined && { body: JSON.stringify(message) }),
        ...(signal !== undefined && { signal }),
      });
    },
    async close() {
      await gateway.close();
      await Promise.all([issuer.close(), upstream.close()]);
    },
  };
  return world;
}

/** A JSON-RPC request. */
export function request(method: string, params: object = {}): object {
  return { jsonrpc: '2.0', id: 1, method, params };
}
