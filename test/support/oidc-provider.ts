import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type ClientMetadata, type JWK } from 'oidc-provider';
import { keepSecret } from './secrecy.ts';

/** A real authorization server, oidc-provider. It issues opaque tokens to one client and introspects them for others. */
export interface OidcProvider {
  readonly issuer: string;
  /** Requests to the introspection endpoint so far. */
  introspections(): number;
  /** An opaque access token for `resource`, by the client credentials grant. */
  token(resource: string, scope?: string): Promise<string>;
  revoke(token: string): Promise<void>;
  close(): Promise<void>;
}

const app = { id: 'app', secret: 'app-secret-of-the-tests' };
const authorization = `Basic ${Buffer.from(`${app.id}:${app.secret}`).toString('base64')}`;

/** Starts one on a free port of loopback, with keys for RS256 and ES256. `clients` may introspect. */
export async function startOidcProvider(clients: readonly ClientMetadata[]): Promise<OidcProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    jwks: { keys: [signingKey('RS256'), signingKey('ES256')] },
    cookies: { keys: ['a-key-of-the-tests'] },
    scopes: ['read', 'write'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    clients: [
      {
        client_id: app.id,
        client_secret: app.secret,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
      },
      ...clients.map((client) => ({ grant_types: [], response_types: [], redirect_uris: [], ...client })),
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: (_ctx, client) => client.clientId !== app.id },
      jwtIntrospection: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx, resource) => ({
          audience: resource,
          scope: 'read write',
          accessTokenFormat: 'opaque',
          accessTokenTTL: 300,
        }),
      },
    },
  });
  let introspections = 0;
  const handle = provider.callback();
  server.on('request', (request, response) => {
    if (request.url === '/token/introspection') introspections += 1;
    void handle(request, response);
  });

  async function post(path: string, form: Record<string, string>): Promise<Record<string, unknown>> {
    const response = await fetch(issuer + path, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(form),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }

  return {
    issuer,
    introspections: () => introspections,
    async token(resource, scope = 'read') {
      const { access_token: token } = await post('/token', { grant_type: 'client_credentials', resource, scope });
      if (typeof token !== 'string') throw new TypeError('no access token');
      keepSecret(token);
      return token;
    },
    revoke: async (token) => void (await post('/token/revocation', { token })),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function signingKey(alg: 'RS256' | 'ES256'): JWK {
  const { privateKey } =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid: alg };
}
