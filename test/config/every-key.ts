import type { Path } from '../../src/config/problems.ts';

/** A configuration that uses every key there is. */
export const everyKey: unknown = {
  public_url: 'http://127.0.0.1:8080',
  listen: '127.0.0.1:8081',
  admin: '127.0.0.1:9091',
  authorization_servers: {
    main: {
      issuer: 'http://127.0.0.1:9000',
      backchannel: 'http://as:9000',
      jwt: { algorithms: ['RS256'], types: ['at+jwt'], jwks: 'http://as:9000/jwks' },
      introspection: {
        client_id: 'gateway',
        client_secret: 's3cr3t',
        client_auth: 'client_secret_post',
        endpoint: 'http://as:9000/introspect',
        cache: '10s',
        audience: 'optional',
      },
      clock_tolerance: '1s',
      timeout: '2s',
    },
  },
  scopes: { write: ['read'] },
  policies: 'policies',
  session_key: 'k3y-of-at-least-thirty-two-characters',
  allowed_hosts: ['gateway', '[::2]'],
  allowed_origins: ['https://app.example'],
  limits: { request_body: '1KiB', request_headers: '8KiB' },
  log: { level: 'debug', decisions: 'denials' },
  routes: [
    {
      name: 'api',
      path: '/api',
      protocol: 'http',
      resource: {
        name: 'API',
        scopes_supported: ['read'],
        documentation: 'https://docs.example',
        policy_uri: 'https://docs.example/policy',
        tos_uri: 'https://docs.example/tos',
      },
      authorization_servers: ['main'],
      audience: ['https://api.example'],
      tokens: ['jwt'],
      methods: ['GET'],
      public: false,
      upgrade: 'websocket',
      keepalive: '15s',
      revalidate: '30s',
      upstream: {
        url: 'http://127.0.0.1:3000',
        identity: { 'x-auth-subject': 'sub' },
        token: 'exchange',
        exchange: {
          server: 'main',
          client_id: 'gateway',
          client_secret: 's3cr3t',
          client_auth: 'client_secret_basic',
          endpoint: 'http://as:9000/token',
          audience: 'https://b.example',
          resource: 'https://b.example/',
          scope: ['read'],
        },
        timeouts: { connect: '1s', response: '2s' },
      },
    },
  ],
};

/** Every place in a document, but not the whole. */
export function places(document: unknown, path: Path = []): Path[] {
  const inner =
    typeof document === 'object' && document !== null
      ? Object.entries(document).flatMap(([key, value]) =>
          places(value, [...path, Array.isArray(document) ? Number(key) : key]),
        )
      : [];
  return path.length === 0 ? inner : [path, ...inner];
}

/** What is in one place of a document. */
export function at(document: unknown, path: Path): unknown {
  return path.reduce((place, segment) => (place as Record<string | number, unknown>)[segment], document);
}

/** A copy of a document with something else in one place. */
export function replaced(document: unknown, path: Path, value: unknown): unknown {
  const copy: unknown = structuredClone(document);
  let place = copy as Record<string | number, unknown>;
  for (const segment of path.slice(0, -1)) place = place[segment] as Record<string | number, unknown>;
  place[path.at(-1) ?? ''] = value;
  return copy;
}
