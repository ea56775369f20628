import { startAuthorizationServer, type AuthorizationServerOptions } from '../../demo/authorization-server.ts';

/** The MCP server that the tests' tokens are for. */
export const mcpResource = 'http://127.0.0.1:8080/mcp';

/** The API that the tests' JWTs are for. */
export const apiAudience = 'https://api.demo.example';

/** How the gateway authenticates, `client_secret_basic`. */
export const asGateway = `Basic ${Buffer.from('gateway:gateway-secret').toString('base64')}`;

/** An answer with a JSON body, or null for none. */
export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Starts an authorization server on a free port. */
export function start(options: Partial<AuthorizationServerOptions> = {}) {
  return startAuthorizationServer({ port: 0, mcpResource, apiAudience, ...options });
}

/** Posts a form to one of the endpoints under `/oauth/v2/`. */
export async function post(
  issuer: string,
  endpoint: 'oauth-introspect' | 'oauth-revoke' | 'oauth-token',
  parameters: [string, string][] | Record<string, string>,
  authorization?: string,
): Promise<Answer> {
  const response = await fetch(`${issuer}/oauth/v2/${endpoint}`, {
    method: 'POST',
    headers: authorization === undefined ? {} : { authorization },
    body: new URLSearchParams(parameters),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}

/** Asks about a token as the gateway does. */
export async function introspect(issuer: string, token: string): Promise<Record<string, unknown>> {
  const { body } = await post(issuer, 'oauth-introspect', { token }, asGateway);
  return body;
}

/** Posts a registration. */
export async function register(issuer: string, metadata: object): Promise<Answer> {
  const response = await fetch(`${issuer}/oauth/v2/oauth-registration`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(metadata),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}
