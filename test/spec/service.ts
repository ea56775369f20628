import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { filesIn } from '../architecture/source-files.ts';
import type { SignOptions } from '../support/issuer.ts';
import { startWorld, publicUrl, type Answer, type World } from '../worlds/gateway.ts';
import { sendJson } from '../support/upstream.ts';

export const mcpAudience = `${publicUrl}/mcp`;
export const apiAudience = 'https://api.demo.example';
export const metadataUrl = `${publicUrl}/.well-known/oauth-protected-resource/mcp`;

/**
 * The service of the demo: the shipped `gateway.yaml` and policies, before an upstream that plays the MCP
 * server and the demo API, with tokens of any shape that a test wants.
 */
export interface Service extends World {
  /** A JWT for the demo API, good for all of it unless `claims` say otherwise; `undefined` leaves one out. */
  apiToken(claims?: Record<string, unknown>, options?: SignOptions): Promise<string>;
  /** An opaque token for the MCP server with the scope `read`, as introspection explains it unless `claims` differ. */
  agentToken(claims?: Record<string, unknown>): string;
  /** Posts one JSON-RPC message to the MCP server. */
  message(token: string | undefined, method: string, params?: Record<string, unknown>): Promise<Answer>;
}

/** The tools that the upstream lists. */
export const toolList = {
  jsonrpc: '2.0',
  id: 7,
  result: { tools: [{ name: 'get_balance', description: 'Shows a balance', inputSchema: { type: 'object' } }] },
};

/** Starts the service. */
export async function startService(): Promise<Service> {
  const [gatewayYaml] = filesIn('.', /^gateway\.yaml$/);
  const policies = filesIn('policies', /^policies\/[\w-]+\.yaml$/);
  const world = await startWorld({
    yaml: () => (gatewayYaml?.text ?? '').replaceAll(/^(?:public_url|listen|admin):.*\n(?: .*\n)*/gm, ''),
    policies: Object.fromEntries(
      policies.map(({ path, text }) => [path.slice('policies/'.length, -'.yaml'.length), text]),
    ),
    env: (issuer, upstream) => ({
      ISSUER: issuer,
      ISSUER_BACKCHANNEL: issuer,
      MCP_SERVER_URL: upstream,
      BACKEND_URL: upstream,
    }),
    upstream: answer,
  });
  const { issuer } = world;
  issuer.answerAt('/token', (_request, response, body) => {
    const grantType = new URLSearchParams(body).get('grant_type');
    const token = grantType === 'client_credentials' ? 'of-the-gateway' : 'exchanged';
    const type = 'urn:ietf:params:oauth:token-type:access_token';
    const granted = { access_token: token, issued_token_type: type, token_type: 'Bearer', expires_in: 60 };
    sendJson(response, 200, granted);
  });
  return {
    ...world,
    apiToken: (claims, options) => issuer.sign({ aud: apiAudience, scope: 'read', risk: 20, ...claims }, options),
    agentToken(claims) {
      const token = randomUUID();
      const iat = Math.floor(Date.now() / 1000);
      const standard = { active: true, sub: 'alice', client_id: 'agent', aud: mcpAudience, iat, exp: iat + 900 };
      issuer.introspection.set(token, { ...standard, scope: 'read', ...claims });
      return token;
    },
    message: (token, method, params = {}) =>
      world.post('/mcp', token, JSON.stringify({ jsonrpc: '2.0', id: 7, method, params })),
  };
}

/** The MCP server of the demo, though with a length that its stream must not keep; else an API. */
function answer({ url }: IncomingMessage, response: ServerResponse): void {
  if (url?.startsWith('/mcp') !== true) {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":"x"}');
    return;
  }
  const event = `event: message\ndata: ${JSON.stringify(toolList)}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': event.length }).end(event);
}
