import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK } from 'jose';
import { Provider, type ClientMetadata, type Configuration, type JWK } from 'oidc-provider';
import { listen } from '../../demo/listen.ts';
import { createKey } from './issuer.ts';
import { keepSecret } from './secrecy.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Starts an oidc-provider on a free port of loopback, with keys for `algorithms`. `serve` may answer a request first. */
export async function startProvider(
  configuration: Configuration,
  algorithms: readonly ('RS256' | 'ES256')[],
  serve: (request: IncomingMessage, response: ServerResponse, next: Handle) => void,
) {
  const server = createServer();
  const { url: issuer, close } = await listen(server, 0);
  const cookies = { keys: ['a-key-of-the-tests'] };
  const keys = await Promise.all(algorithms.map(signingKey));
  const provider = new Provider(issuer, { jwks: { keys }, cookies, ...configuration });
  const next = provider.callback();
  server.on('request', (request, response) => serve(request, response, next));
  return { issuer, provider, close };
}

async function signingKey(alg: 'RS256' | 'ES256'): Promise<JWK> {
  const { privateKey } = await createKey(alg, alg);
  return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid: alg };
}

/** A real authorization server, oidc-provider. It issues opaque tokens to one client and introspects them for others. */
export interface OidcProvider {
  readonly issuer: string;
  /** An opaque access token for `resource`, by the client credentials grant. */
  token(resource: string, scope?: string): Promise<string>;
  close(): Promise<void>;
}

const app = { id: 'app', secret: 'app-secret-of-the-tests' };
const authorization = `Basic ${Buffer.from(`${app.id}:${app.secret}`).toString('base64')}`;
const machine = { grant_types: [], response_types: [], redirect_uris: [] };

/** Starts one, with keys for RS256 and ES256. `clients` may introspect. */
export async function startOidcProvider(clients: readonly ClientMetadata[]): Promise<OidcProvider> {
  const configuration: Configuration = {
    scopes: ['read', 'write'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    clients: [
      { ...machine, client_id: app.id, client_secret: app.secret, grant_types: ['client_credentials'] },
      ...clients.map((client) => ({ ...machine, ...client })),
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: (_ctx, client) => client.clientId !== app.id },
      jwtIntrospection: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx, audience) => {
          return { audience, scope: 'read write', accessTokenFormat: 'opaque', accessTokenTTL: 300 };
        },
      },
    },
  };
  const { issuer, close } = await startProvider(configuration, ['RS256', 'ES256'], (request, response, next) => {
    void next(request, response);
  });

  async function post(path: string, form: Record<string, string>): Promise<Record<string, unknown>> {
    const body = new URLSearchParams(form);
    const response = await fetch(issuer + path, { method: 'POST', headers: { authorization }, body });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }

  return {
    issuer,
    async token(resource, scope = 'read') {
      const { access_token: token } = await post('/token', { grant_type: 'client_credentials', resource, scope });
      if (typeof token !== 'string') throw new TypeError('no access token');
      keepSecret(token);
      return token;
    },
    close,
  };
}
