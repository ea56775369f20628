import type { IncomingMessage, ServerResponse } from 'node:http';
import { publicUrl, startWorld, type World } from './gateway.ts';

/** The protected resource metadata that the challenges of `/mcp` and `/api` name. */
export const metadataOf = (path: string): string => `${publicUrl}/.well-known/oauth-protected-resource${path}`;

/** A call of a tool as JSON-RPC. */
export const toolCall = (name: string, id: string | number = 7): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} } });

/** Starts routes of both protocols, for refusals and challenges, before an upstream and an address without a server. */
export function startWireWorld(): Promise<World> {
  return startWorld({
    top: 'limits: { request_body: 1KiB }',
    server: 'jwt: { algorithms: [RS256] }, introspection: { client_id: gateway, client_secret: secret, cache: 30s }',
    routes: [
      'name: tools, path: /mcp, protocol: mcp, audience: a, policy: tools, upstream: { url: "UPSTREAM/mcp" }',
      'name: plain, path: /plain, audience: a, policy: api, upstream: { url: "UPSTREAM/plain" }',
      'name: api, path: /api, audience: a, policy: api, resource: { name: The API }, upstream: { url: "UPSTREAM/api", timeouts: { response: 300ms } }',
      'name: dead-api, path: /dead/api, audience: a, upstream: { url: "http://127.0.0.1:1" }',
      'name: dead-tools, path: /dead/mcp, protocol: mcp, audience: a, upstream: { url: "http://127.0.0.1:1" }',
      'name: slow-tools, path: /slow/mcp, protocol: mcp, audience: a, upstream: { url: "UPSTREAM/slow", timeouts: { response: 300ms } }',
    ],
    policies: {
      api: 'scope: read\nclaims: { blocked: { not: true } }\n',
      tools:
        'scope: read\nclaims: { blocked: { not: true } }\ntools:\n  "get_*": {}\n  pay: { scope: payments }\n  admin: { claims: { role: admin } }\n',
    },
    upstream: answer,
    claims: { aud: 'a', scope: 'read' },
  });
}

/** Never answers a path with `slow`; answers the rest with an event stream that has a Content-Length. */
function answer({ url }: IncomingMessage, response: ServerResponse): void {
  if (url?.includes('slow') === true) return;
  response.writeHead(200, {
    'content-type': url?.startsWith('/mcp') === true ? 'text/event-stream; charset=utf-8' : 'application/json',
    'content-length': 9,
    'x-accel-buffering': 'yes',
  });
  response.end('data: x\n\n');
}
