import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { startIssuer, type Issuer } from './issuer.ts';

/** An endpoint; `all`: every one. */
type Endpoint = 'discovery' | 'jwks' | 'introspection' | 'token' | 'all';

/** How an endpoint fails; the whole server fails by {@link FaultServer.down} and {@link FaultServer.freeze}. */
export type Fault = keyof typeof faults;

/** An authorization server that fails on demand, while it runs. */
export interface FaultServer {
  readonly issuer: Issuer;
  readonly url: string;
  /** Connections open now. */
  readonly sockets: ReadonlySet<Socket>;
  /** Sets how an endpoint fails; undefined: it works again. */
  fault(endpoint: Endpoint, fault: Fault | undefined): void;
  /** The number of requests to an endpoint; `all`: their sum. */
  asked(endpoint: Endpoint): number;
  /** Stops listening and ends every connection: new ones are refused. */
  down(): Promise<void>;
  /** Listens again, on the same port. */
  up(): Promise<void>;
  /** Sends nothing on any connection without closing it; false: answers again. */
  freeze(frozen: boolean): void;
  /** Makes an opaque token that it accepts. */
  opaque(claims?: Record<string, unknown>): string;
  close(): Promise<void>;
}

const paths: Readonly<Record<Exclude<Endpoint, 'all'>, string>> = {
  discovery: '/.well-known/',
  jwks: '/jwks',
  introspection: '/introspect',
  token: '/token',
};

const json = { 'content-type': 'application/json' };
/** 64 MiB of nothing in 64 KiB. */
const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '), { level: 9 });

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown;

/** Writes `text` again and again, as fast or as slowly as `everyMs` says, until the client disconnects. */
function write(response: ServerResponse, text: string, everyMs: number): void {
  const timer = setInterval(() => response.write(text), everyMs);
  response.on('close', () => clearInterval(timer));
}

/** The faults of an endpoint. */
export const faults = {
  reset: (_response, { socket }) => socket.resetAndDestroy(),
  silence: () => {},
  'slow head': (_response, { socket }) => {
    socket.write('HTTP/1.1 200 OK\r\nX-Slow: ');
    const timer = setInterval(() => socket.write('x'), 20);
    socket.on('close', () => clearInterval(timer));
  },
  'slow body': (response) => write(response.writeHead(200, json), ' ', 20),
  'endless body': (response) => write(response.writeHead(200, json), ' '.repeat(64 * 1024), 1),
  'endless promises': (response) => {
    const timer = setInterval(() => response.writeProcessing(), 1);
    response.on('close', () => clearInterval(timer));
  },
  'huge header': (response) => response.writeHead(200, { ...json, 'x-huge': 'x'.repeat(64 * 1024) }).end('{}'),
  'many headers': (response) => {
    const many = Array.from({ length: 5000 }, (_, count) => [`x-${count}`, 'x'] as const);
    response.writeHead(200, Object.fromEntries(many)).end('{}');
  },
  truncated: (response) => {
    response.writeHead(200, { ...json, 'content-length': 1000 }).write('{"keys":[');
    setTimeout(() => response.destroy(), 10);
  },
  'not HTTP': (_response, { socket }) => socket.end('220 mail.example ESMTP\r\n'),
  'another protocol': (_response, { socket }) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
  'two lengths': (_response, { socket }) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}'),
  'no UTF-8': (response) => response.writeHead(200, json).end(Buffer.from([0x7b, 0xff, 0x7d])),
  'gzip bomb': (response) => response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bomb),
  redirect: (response) => response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
  'an error': (response) => response.writeHead(500).end('boom'),
  'too many requests': (response) => response.writeHead(429, { ...json, 'retry-after': '17' }).end('{}'),
  maintenance: (response) => response.writeHead(503, { 'retry-after': '17' }).end(),
  'maintenance for a day': (response) => response.writeHead(503, { 'retry-after': '86400' }).end(),
  'a page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>down</html>'),
  'broken JSON': (response) => response.writeHead(200, json).end('{"keys":[{"kty":'),
  'deep JSON': (response) => response.writeHead(200, json).end('['.repeat(200_000)),
  'another thing': (response) => response.writeHead(200, json).end('[1, "two", null]'),
  'a status of 404': (response) => response.writeHead(404, json).end('{}'),
} as const satisfies Record<string, Answer>;

/** Starts one: it publishes metadata and keys, introspects opaque tokens and exchanges any token. */
export async function startFaultServer(): Promise<FaultServer> {
  const issuer = await startIssuer();
  const { server } = issuer;
  const port = Number(new URL(issuer.url).port);
  const failing = new Map<Endpoint, Fault>();
  const sockets = new Set<Socket>();
  let frozen = false;

  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    if (frozen) socket.pause();
  });
  issuer.intercept = (request, response) => {
    const [endpoint = 'all'] = Object.entries(paths).flatMap(([name, path]) =>
      (request.url ?? '').startsWith(path) ? [name as Endpoint] : [],
    );
    const fault = failing.get(endpoint) ?? failing.get('all');
    response.on('error', () => {});
    if (frozen) return true;
    if (fault !== undefined) faults[fault](response, request);
    else if (endpoint === 'token') response.writeHead(200, json).end(exchanged());
    else return false;
    return true;
  };

  return {
    issuer,
    url: issuer.url,
    sockets,
    fault(endpoint, fault) {
      if (fault === undefined) failing.delete(endpoint);
      else failing.set(endpoint, fault);
    },
    asked: (endpoint) =>
      issuer.requests.filter(({ path }) => endpoint === 'all' || path.startsWith(paths[endpoint])).length,
    async down() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    async up() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    freeze(now) {
      frozen = now;
      if (!now) for (const socket of sockets) socket.resume();
    },
    opaque(claims) {
      const token = randomUUID();
      issuer.introspection.set(token, { active: true, aud: 'a', scope: 'read', sub: 'alice', ...claims });
      return token;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await issuer.close();
    },
  };
}

function exchanged(): string {
  return JSON.stringify({
    access_token: randomUUID(),
    token_type: 'Bearer',
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    expires_in: 86_400,
  });
}
