import type { IncomingMessage, Server, ServerResponse } from 'node:http';

import type { Provider } from 'oidc-provider';

import { interactionPath, type Interactions } from './authorization-server/interactions.ts';

/** Serves an oidc-provider and its pages as `issuer`. */
export function serveProvider(server: Server, issuer: string, provider: Provider, interact: Interactions): void {
  const authorize = provider.callback();
  // Needed for the URLs and cookies of an https issuer. `announceIssuer` overwrites the headers, so no client can set
  // them.
  provider.proxy = true;
  // Prints bugs: oidc-provider answers `server_error` and would not report them otherwise.
  provider.on('server_error', (_ctx, error) => console.error(error));
  server.on('request', (request, response) => void serve(request, response));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
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
}

/**
 * Sets the host that oidc-provider builds its URLs from. A caller that uses another name, such as the gateway in
 * Docker, must read the same metadata, and no caller may put its own host into the metadata.
 */
function announceIssuer(request: IncomingMessage, issuer: string): void {
  const { host, protocol } = new URL(issuer);
  delete request.headers['x-forwarded-host'];
  request.headers.host = host;
  request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
}
