import { expect, vi } from 'vitest';
import { startFaultServer, type FaultServer } from '../support/fault-server.ts';
import { sample, startTestGateway, type TestGateway } from '../support/gateway.ts';
import type { SignOptions } from '../support/issuer.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Line } from '../support/written-log.ts';

/** An answer as a client sees it, and after how long. */
export interface Seen {
  readonly status: number;
  /** Seconds; undefined without `Retry-After`. */
  readonly retryAfter: number | undefined;
  readonly reason: unknown;
  readonly ms: number;
}

/** A gateway with an authorization server that fails on demand, and an upstream that does not fail. */
export interface OutageWorld {
  readonly server: FaultServer;
  readonly gateway: TestGateway;
  /** Calls `/api` (JWTs and opaque tokens), `/exchanged` (token exchange) or `/public`. */
  readonly get: (path: string, token?: string) => Promise<Seen>;
  /** Signs a JWT for two days, since a test may move the gateway's clock on. */
  readonly jwt: (claims?: Record<string, unknown>, options?: SignOptions) => Promise<string>;
  /** The authorization server as `/readyz` shows it. */
  readonly ready: () => Promise<Record<string, unknown>>;
  /** The number of calls to the authorization server, by the labels of the metric. */
  readonly calls: (operation: string, result: string) => Promise<number>;
  /** The log lines about the authorization server. */
  readonly events: () => Promise<readonly Line[]>;
  /** Moves the gateway's clock on. */
  readonly advance: (seconds: number) => void;
  /** Ends all servers, and asserts that no connection is left. */
  readonly close: () => Promise<void>;
}

/** The timeout of a call to the authorization server. */
const timeoutMs = 700;
/** The longest time until a client has its answer on a busy machine. Without the timeout it would wait for 300 s. */
export const answeredMs = timeoutMs + 20_000;

const DAY_SECONDS = 86_400;

export interface OutageOptions {
  /** One more line of YAML for the authorization server. */
  readonly setting?: string;
  /** The timeout of one call. Default {@link timeoutMs}. */
  readonly timeout?: string;
  /** How long introspection answers are cached. Default 24h. */
  readonly cache?: string;
  /** Changes the authorization server before the gateway starts. */
  readonly before?: (server: FaultServer) => void | Promise<void>;
}

/** Starts all three. */
export async function startOutageWorld(options: OutageOptions = {}): Promise<OutageWorld> {
  const { setting = '', timeout = `${timeoutMs}ms`, cache = '24h', before } = options;
  const socketsBefore = openSockets();
  const [server, upstream] = await Promise.all([startFaultServer(), startUpstream()]);
  await before?.(server);
  let now = Date.now();
  const gateway = await startTestGateway({
    yaml: `
authorization_servers:
  main:
    issuer: ${server.url}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: secret, cache: ${cache} }
    timeout: ${timeout}
    ${setting}
limits: { failures: { requests: 10000, per: 1s } }
routes:
  - { name: api, path: /api, audience: a, upstream: { url: "${upstream.url}" } }
  - { name: public, path: /public, public: true, upstream: { url: "${upstream.url}" } }
  - name: exchanged
    path: /exchanged
    audience: a
    upstream: { url: "${upstream.url}", token: exchange, exchange: { server: main, audience: b } }
`,
    clock: () => now,
  });
  return {
    server,
    gateway,
    async get(path, token) {
      const began = performance.now();
      // Without keep-alive: these are not the connections that are counted.
      const headers = { connection: 'close', ...(token !== undefined && { authorization: `Bearer ${token}` }) };
      const response = await fetch(gateway.url + path, { headers });
      const text = await response.text();
      const ms = performance.now() - began;
      const retryAfter = response.headers.get('retry-after');
      const reason =
        response.status < 400 || text === '' ? undefined : (JSON.parse(text) as { reason: unknown }).reason;
      return { status: response.status, retryAfter: retryAfter === null ? undefined : Number(retryAfter), reason, ms };
    },
    jwt(claims, signing) {
      const exp = Math.floor(Date.now() / 1000) + 2 * DAY_SECONDS;
      return server.issuer.sign({ aud: 'a', exp, ...claims }, signing);
    },
    async ready() {
      const response = await fetch(`${gateway.adminUrl}/readyz`, { headers: { connection: 'close' } });
      const body = (await response.json()) as { authorization_servers: readonly Record<string, unknown>[] };
      return body.authorization_servers[0] ?? {};
    },
    calls: (operation, result) =>
      sample(
        gateway,
        `sallyport_authorization_server_requests_total{server="main",operation="${operation}",result="${result}"}`,
      ),
    events: async () => (await gateway.lines()).filter(({ msg }) => String(msg).startsWith('authorization server')),
    advance(seconds) {
      now += seconds * 1000;
    },
    async close() {
      await gateway.close();
      await vi.waitFor(() => expect(server.sockets.size, 'connections to the server').toBe(0), 20_000);
      await Promise.all([server.close(), upstream.close()]);
      await vi.waitFor(
        () => expect(openSockets(), 'sockets of the process').toBeLessThanOrEqual(socketsBefore),
        20_000,
      );
    },
  };
}

/** The number of sockets of this process, with those of the test. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}

/** Asserts that a request was allowed. */
export function expectServed({ status, reason }: Seen): void {
  expect([status, reason]).toEqual([200, undefined]);
}

/** Asserts a refusal because the authorization server is unavailable: in time, with a Retry-After. */
export function expectAway(seen: Seen): void {
  expect(seen).toMatchObject({ status: 503, reason: 'authorization_server.unavailable' });
  expect(seen.retryAfter).toBeGreaterThanOrEqual(1);
  expect(seen.retryAfter).toBeLessThanOrEqual(60);
  expect(seen.ms).toBeLessThan(answeredMs);
}
