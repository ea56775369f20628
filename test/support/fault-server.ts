import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { startIssuer, type Issuer } from './issuer.ts';
import { sendJson } from './upstream.ts';

/** An endpoint; `all`: every one. */
type Endpoint = 'jwks' | 'introspection' | 'all';

/** How an endpoint fails. */
export type Fault = keyof typeof faults;

/** The faults of an authorization server. */
export interface Faults {
  /** Sets how an endpoint fails; undefined: it works again. */
  fault(endpoint: Endpoint, fault: Fault | undefined): void;
  /** The number of requests for introspection. */
  asked(): number;
}

/** An authorization server that fails on demand, while it runs. */
export interface FaultServer extends Faults {
  readonly issuer: Issuer;
  readonly url: string;
  /** Stops listening and ends every connection: new ones are refused. */
  down(): Promise<void>;
  /** Listens again, on the same port. */
  up(): Promise<void>;
  /** Makes an opaque token that it accepts. */
  opaque(claims?: Record<string, unknown>): string;
  close(): Promise<void>;
}

const json = { 'content-type': 'application/json' };
/** 64 MiB of nothing in 64 KiB. */
const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '), { level: 9 });

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown;

/** The faults of an endpoint. */
const faults = {
  reset: (_response, { socket }) => socket.resetAndDestroy(),
  silence: () => {},
  'endless body': (response) => {
    response.writeHead(200, json);
    const timer = setInterval(() => response.write(' '.repeat(64 * 1024)), 1);
    response.on('close', () => clearInterval(timer));
  },
  'gzip bomb': (response) => response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bomb),
  redirect: (response) => response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
  'an error': (response) => response.writeHead(500).end('boom'),
  'too many requests': (response) => response.writeHead(429, { ...json, 'retry-after': '17' }).end('{}'),
  maintenance: (response) => response.writeHead(503, { 'retry-after': '17' }).end(),
  'a refusal of the gateway': (response) => sendJson(response, 401, { error: 'invalid_client' }),
} as const satisfies Record<string, Answer>;

/** Lets an issuer fail on demand. It also exchanges any token. */
export function failOnDemand(issuer: Issuer): Faults {
  const failing = new Map<Endpoint, Fault>();
  const endpoints: Record<string, Endpoint> = { '/jwks': 'jwks', '/introspect': 'introspection' };
  issuer.intercept = (request, response) => {
    const fault = failing.get(endpoints[request.url ?? ''] ?? 'all') ?? failing.get('all');
    response.on('error', () => {});
    if (fault !== undefined) faults[fault](response, request);
    else if (request.url === '/token') sendJson(response, 200, exchanged());
    else return false;
    return true;
  };
  return {
    fault(endpoint, fault) {
      if (fault === undefined) failing.delete(endpoint);
      else failing.set(endpoint, fault);
    },
    asked: () => issuer.requestsTo('/introspect').length,
  };
}

/** Starts one: it publishes metadata and keys, introspects opaque tokens and exchanges any token. */
export async function startFaultServer(): Promise<FaultServer> {
  const issuer = await startIssuer();
  const { server, url } = issuer;
  server.on('connection', (socket) => socket.on('error', () => {}));
  return {
    issuer,
    url,
    ...failOnDemand(issuer),
    async down() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
    async up() {
      server.listen(Number(new URL(url).port), '127.0.0.1');
      await once(server, 'listening');
    },
    opaque(claims) {
      const token = randomUUID();
      issuer.introspection.set(token, { active: true, aud: 'a', scope: 'read', sub: 'alice', ...claims });
      return token;
    },
    close: () => issuer.close(),
  };
}

function exchanged(): object {
  const issuedType = 'urn:ietf:params:oauth:token-type:access_token';
  return { access_token: randomUUID(), token_type: 'Bearer', issued_token_type: issuedType, expires_in: 86_400 };
}
