import { generateKeyPairSync } from 'node:crypto';
import type { Path } from '../../../src/core/config/problems.ts';
import { gateway, memberSchema, resolved, type Schema } from '../../../src/core/config/schema.ts';
import { certificate } from '../../support/certificates.ts';

const clientKey = JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }));

/** A configuration that uses every key whose value must fit others, or that has no example. */
const written: unknown = {
  public_url: 'https://127.0.0.1:8080',
  listen: '127.0.0.1:8081',
  console: { grafana: 'https://grafana.example/d/sallyport' },
  admin: { listen: '127.0.0.1:9091', hosts: ['prometheus.internal'], token: 'Kx7-0123-of-the-operators' },
  tls: { cert: certificate('server'), key: certificate('server-key'), client_ca: certificate('ca') },
  trusted_proxies: ['10.0.0.0/8', '::1'],
  certificate_proxies: ['10.0.0.7'],
  forward_auth: { listen: '127.0.0.1:8082', trusted: ['127.0.0.1', '10.0.0.0/8'] },
  authorization_servers: {
    main: {
      issuer: 'http://127.0.0.1:9000',
      backchannel: 'http://as:9000',
      jwt: {
        algorithms: ['RS256'],
        types: ['at+jwt'],
        issuers: ['http://127.0.0.1:9000/v1'],
        jwks: 'http://as:9000/jwks',
      },
      scope_prefix: 'api://main/',
      audience_claim: 'client_id',
      introspection: {
        client_id: 'gateway',
        client_secret: 's3cr3t',
        client_auth: 'client_secret_post',
        endpoint: 'http://as:9000/introspect',
        cache: '10s',
        prefix: 'main_',
        audience: 'optional',
        response: 'jwt',
        algorithms: ['ES256'],
      },
      clock_tolerance: '1s',
      timeout: '2s',
      stale: '1h',
    },
  },
  decision_points: {
    acme: { url: 'https://pdp.example', token: 'pdp-t0ken', timeout: '300ms', arguments: true },
  },
  approvals: {
    path: '/approve',
    authorization_servers: ['front_door'],
    audience: 'https://127.0.0.1:8080/approve',
    backchannel: 'http://gateway:8080',
    notify: { url: 'https://chat.example/hook', secret: 's3cr3t' },
  },
  front_door: {
    issuer: 'https://signin.example',
    listen: '127.0.0.1:8091',
    backchannel: 'http://front-door:8090',
    keys: 'front-door.json',
    identity_providers: {
      corporate: {
        issuer: 'https://login.example/tenant/v2.0',
        backchannel: 'http://login:8080/tenant/v2.0',
        client_id: 'front-door',
        client_secret: 's3cr3t',
        client_auth: 'client_secret_post',
        scopes: ['openid', 'email'],
        domains: ['acme.com'],
        claims: { role: '/roles/0', tenant: 'tid' },
      },
      partners: {
        issuer: 'https://partners.example',
        client_id: 'front-door',
        client_auth: 'private_key_jwt',
        client_key: clientKey,
        client_key_id: 'k1',
        domains: ['partners.example'],
      },
    },
    clients: {
      refresh: { grace: '10s' },
      metadata_documents: ['https://claude.ai/**'],
      document_addresses: ['127.0.0.0/8'],
      registration: {
        redirect_uris: ['http://127.0.0.1:*/**'],
        device: true,
        initial_access_token: 's3cr3t',
        lifetime: '30d',
      },
      registered: {
        desk: {
          name: 'Desk',
          client_secret: 's3cr3t',
          redirect_uris: ['http://127.0.0.1:*/callback'],
          refresh: false,
          approvals: true,
        },
        report: {
          grants: ['client_credentials'],
          client_auth: 'private_key_jwt',
          jwks_uri: 'https://report.example/jwks',
          scopes: ['read'],
          claims: { role: 'reporter', level: 3, night: true, teams: ['a', 'b'] },
        },
      },
    },
    scopes: { read: { title: 'Read accounts' }, payments: { title: 'Move money', lifetime: '60s', max_age: '5m' } },
    limits: {
      sign_ins: { requests: 30, per: '1m', burst: 100 },
      registrations: { requests: 5, per: '1m' },
      requests: 'off',
    },
    acr_values: ['phr'],
    tokens: { format: 'jwt', lifetime: '10m' },
    assertions: {
      acme: {
        issuer: 'https://acme.example',
        backchannel: 'http://acme:8080',
        provider: 'corporate',
        clients: ['desk'],
        scopes: ['read'],
        claims: { role: '/groups/0' },
      },
    },
    workloads: {
      cluster: {
        issuer: 'https://kubernetes.default.svc',
        backchannel: 'https://10.0.0.1:6443',
        jwks: 'https://10.0.0.1:6443/openid/v1/jwks',
        ca: certificate('ca'),
        token: 't0ken',
        audience: 'https://signin.example',
        subjects: ['system:serviceaccount:agents:*'],
        claims: { namespace: '/kubernetes.io/namespace' },
        scopes: ['read'],
        lifetime: '5m',
      },
    },
  },
  revocation: {
    keep: '90d',
    file: 'revocations.jsonl',
    events: {
      okta: {
        issuer: 'https://acme.okta.com',
        audience: 'https://mcp.example',
        subjects: 'main',
        may_revoke: ['corporate'],
        delivery: 'push',
        path: '/events/okta',
        authorization: 'Bearer s3cr3t',
        token: 's3cr3t',
        endpoint_origins: ['https://ssf.acme.example'],
        stream: 'existing',
        stream_id: 'f67e39a0a4d34d56b3aa1bc4cff0069f',
      },
    },
    endpoint: {
      path: '/revoke-subject',
      authorization_servers: ['main'],
      audience: 'https://mcp.example',
      scope: 'revoke',
      subjects: 'main',
      may_revoke: ['partners'],
    },
  },
  root_resource: 'api',
  oauth_endpoints_at_root: 'main',
  scopes: { write: ['read'] },
  policies: 'policies',
  session_key: 'k3y-of-at-least-thirty-two-characters',
  shared: 'rediss://gateway:s3cr3t@redis:6379/1',
  on_store_failure: 'open',
  egress: {
    proxy: 'http://gateway:s3cr3t@proxy.internal:3128',
    except: ['.internal', '10.0.0.0/8'],
    ca: certificate('ca'),
  },
  allowed_hosts: ['gateway', '[::2]'],
  allowed_origins: ['https://app.example'],
  limits: {
    request_body: '1KiB',
    request_headers: '8KiB',
    idle: '65s',
    json_members: 20_000,
    calls: 4096,
    json_depth: 64,
    rate: { requests: 100, per: '1s', burst: 200, by: 'client' },
    failures: { requests: 30, per: '1m' },
  },
  log: {
    level: 'debug',
    decisions: 'denials',
    file: 'decisions.jsonl',
    paths: false,
    addresses: false,
    claims: ['email'],
    arguments: { show: ['/amount'], digest: true },
    lists: false,
    chain: { key: 'audit.jwk', every: '30s' },
  },
  telemetry: {
    otlp: 'https://collector:4318/otlp',
    service_name: 'gateway',
    logs: true,
    sample: 0.25,
    headers: { authorization: 's3cr3t' },
  },
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
      opaque_tokens: 'shown_to_all',
      methods: ['GET'],
      public: false,
      encoded_slashes: 'pass',
      upgrade: 'websocket',
      decision_point: 'acme',
      first_challenge: 'supported',
      keepalive: '15s',
      rate: { requests: 5, per: '10s', burst: 1, by: 'actor' },
      dpop: { required: true, nonce: true, algorithms: ['ES256', 'EdDSA'], proof_lifetime: '30s' },
      revalidate: '30s',
      upstream: {
        url: 'http://127.0.0.1:3000',
        identity: {
          signed: { header: 'x-auth-identity', audience: 'https://b.example', claims: ['risk', '/a/b'] },
          'x-auth-subject': 'sub',
        },
        token: 'exchange',
        exchange: {
          server: 'main',
          client_id: 'gateway',
          client_auth: 'private_key_jwt',
          client_key: clientKey,
          client_key_id: 'k1',
          endpoint: 'http://as:9000/token',
          audience: ['https://b.example', 'b'],
          resource: 'https://b.example/',
          scope: ['read'],
          token_type: 'jwt',
          subject_token_type: 'access_token',
          actor: 'client_credentials',
          grant: 'token_exchange',
        },
        headers: {
          'X-Api-Key': 'k3y-of-the-upstream',
          'X-Tenant-Key': { by: 'tenant', values: { acme: 's3cr3t' }, default: 'n0ne' },
        },
        location: 'keep',
        idle: '3s',
        concurrency: { calls: 50, queue: 100, wait: '1s' },
        connection_lifetime: '5m',
        allow_response_headers: ['x-accel-redirect', 'alt-svc'],
        timeouts: { connect: '1s', response: '2s' },
      },
    },
    {
      name: 'tools',
      path: '/mcp',
      protocol: 'mcp',
      authorization_servers: ['front_door'],
      below: 'pass',
      query: 'refuse',
      refusals: { final: 'tool_error' },
      upstream: {
        url: 'http://127.0.0.1:3001/mcp',
        token: 'client_credentials',
        client_credentials: {
          server: 'main',
          client_id: 'gateway',
          client_secret: 's3cr3t',
          client_auth: 'client_secret_post',
          endpoint: 'http://as:9000/token',
          audience: ['crm'],
          resource: ['https://crm.example/'],
          scope: ['crm'],
        },
      },
    },
  ],
};

interface Mapping {
  readonly of: Record<string, unknown>;
  readonly properties: Readonly<Record<string, Schema>>;
  /** The path of its schema. */
  readonly place: string;
}

function mappingsIn(value: unknown, schema: Schema = gateway, place = ''): readonly Mapping[] {
  if (Array.isArray(value)) return value.flatMap((item) => mappingsIn(item, memberSchema(schema, 0), `${place}[]`));
  if (typeof value !== 'object' || value === null) return [];
  const { properties = {} } = resolved(schema);
  const inner = Object.entries(value).flatMap(([key, member]) => {
    return mappingsIn(
      member,
      memberSchema(schema, key) ?? {},
      `${place}.${Object.hasOwn(properties, key) ? key : '*'}`,
    );
  });
  return [{ of: value as Mapping['of'], properties, place }, ...inner];
}

function exampleOf(schema: Schema): unknown {
  const { examples = [], enum: words = [], type, default: fallback } = resolved(schema);
  return examples[0] ?? words.find((word) => word !== fallback) ?? (type === 'boolean' ? fallback !== true : undefined);
}

/** A document with an example of each key of the schema that it has nowhere: a new key is tested without a line here. */
function completed(document: unknown): unknown {
  const copy = structuredClone(document);
  const mappings = mappingsIn(copy);
  const used = new Set(mappings.flatMap(({ of, place }) => Object.keys(of).map((key) => `${place}.${key}`)));
  for (const { of, properties, place } of mappings) {
    for (const [key, schema] of Object.entries(properties)) {
      const example = used.has(`${place}.${key}`) ? undefined : exampleOf(schema);
      if (example === undefined) continue;
      used.add(`${place}.${key}`);
      of[key] = example;
    }
  }
  return copy;
}

/** A configuration that uses every key there is. */
export const everyKey: unknown = completed(written);

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
