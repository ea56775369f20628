import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK } from 'jose';
import { Provider, type ClientMetadata, type Configuration, type JWK } from 'oidc-provider';
import { freshState } from '../../demo/authorization-server/provider-parts.ts';
import { listen } from '../../demo/listen.ts';
import { createKey } from './issuer.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Starts an oidc-provider on a free port of loopback, with keys for `algorithms`. `serve` may answer a request first. */
export async function startProvider(
  configuration: Configuration,
  algorithms: readonly ('RS256' | 'ES256')[],
  serve: (request: IncomingMessage, response: ServerResponse, next: Handle) => void = (request, response, next) =>
    void next(request, response),
) {
  const server = createServer();
  const { url: issuer, close } = await listen(server, 0);
  const keys = await Promise.all(algorithms.map(signingKey));
  const provider = new Provider(issuer, { ...freshState(keys), ...configuration });
  const next = provider.callback();
  server.on('request', (request, response) => serve(request, response, next));
  return { issuer, provider, close };
}

async function signingKey(alg: 'RS256' | 'ES256'): Promise<JWK> {
  const { privateKey } = await createKey(alg, alg);
  return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid: alg };
}

/** Starts a real authorization server with keys for RS256 and ES256, at which `clients` may introspect. */
export function startOidcProvider(clients: readonly ClientMetadata[]) {
  const machine = { grant_types: [], response_types: [], redirect_uris: [] };
  return startProvider(
    {
      clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
      clients: clients.map((client) => ({ ...machine, ...client })),
      features: { devInteractions: { enabled: false }, introspection: { enabled: true } },
    },
    ['RS256', 'ES256'],
  );
}
