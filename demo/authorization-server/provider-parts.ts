import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Configuration, JWK, Provider } from 'oidc-provider';
import { createAdapter } from '../../src/front-door/adapter.ts';
import { createMemoryStore } from '../../src/front-door/memory-store.ts';
import { document, type Page, pageHeaders } from '../../src/front-door/page.ts';
import { interactionPath, type Interactions } from './interactions.ts';

/** The key of the ids of codes and refresh tokens. */
export const tokenKey = randomBytes(32).toString('base64url');

/** What an oidc-provider keeps: nothing before its start, nothing after its end. */
export function freshState(
  keys: readonly JWK[] = [newSigningKey()],
): Required<Pick<Configuration, 'adapter' | 'cookies' | 'jwks'>> {
  return {
    adapter: createAdapter({
      store: createMemoryStore(Date.now),
      clock: Date.now,
      registrationMs: 90 * 86_400_000,
      tokenKey,
      onRevoked: async () => {},
    }),
    jwks: { keys: [...keys] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
  };
}

function newSigningKey(): JWK {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const kid = randomBytes(8).toString('hex');
  return { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid };
}

/** Answers a request of oidc-provider with a page. */
export function showPage(ctx: { set(headers: Record<string, string>): void; body: unknown }, page: Page): void {
  ctx.set(pageHeaders(page));
  ctx.body = document(page);
}

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
