import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startWorld, type World } from './gateway.ts';

/** An answer of the gateway. */
interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A request; by default from alice. */
interface Sent {
  /** `''`: no token. */
  readonly token?: string | undefined;
  /** The client's address, one of this machine. */
  readonly from?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON-RPC message, sent by POST. */
  readonly message?: unknown;
  readonly to?: TestGateway;
}

/** A gateway with rate limits, at a time that the test sets. */
export interface RateWorld extends Omit<World, 'send'> {
  /** Milliseconds since the epoch; moves only when a test sets it. */
  now: number;
  /** Moves on until every limit is whole again, forgets what was seen, and lets the issuer know alice and bob. */
  rest(): void;
  /** Lets the issuer know a token of `subject`. Default: one of the same name. */
  knows(subject: string, token?: string): void;
  /** How many introspections there were since the last {@link RateWorld.rest}. */
  asked(): number;
  send(path: string, sent?: Sent): Promise<Answer>;
  /** Sends requests one after the other, and counts the statuses. */
  statuses(count: number, path: string, sent?: Sent | (() => Sent)): Promise<Record<string, number>>;
  /** {@link RateWorld.statuses} of tokens that the issuer does not know, each a different one. */
  guesses(count: number, sent: Sent): Promise<Record<string, number>>;
  /** Starts another gateway with the same servers. @param clock Whether it has the time of the test. */
  another(yaml: string, clock?: boolean): Promise<TestGateway>;
}

/** Starts a gateway with `limits`. */
export async function startRateWorld(limits: string): Promise<RateWorld> {
  let now = Date.now();
  let guessed = 0;
  const policies = { admin: 'scope: admin' };
  const base = await startWorld({ yaml: (...urls) => limits + routesOf(...urls), policies, clock: () => now });
  const { issuer, upstream, gateway } = base;
  const world: RateWorld = {
    ...base,
    get now() {
      return now;
    },
    set now(moment) {
      now = moment;
    },
    rest() {
      now += 3_600_000;
      upstream.seen.length = 0;
      issuer.requests.length = 0;
      issuer.introspection.clear();
      for (const subject of ['alice', 'bob']) world.knows(subject);
    },
    knows(subject, token = subject) {
      issuer.introspection.set(token, { active: true, sub: subject, aud: 'r', scope: 'read' });
    },
    asked: () => issuer.requestsTo('/introspect').length,
    send: (path, sent = {}) => send((sent.to ?? gateway).url + path, sent),
    async statuses(count, path, sent) {
      const counted: Record<string, number> = {};
      for (let time = 0; time < count; time += 1) {
        const { status } = await world.send(path, typeof sent === 'function' ? sent() : sent);
        counted[status] = (counted[status] ?? 0) + 1;
      }
      return counted;
    },
    guesses: (count, sent) => world.statuses(count, '/free', () => ({ ...sent, token: `guess-${(guessed += 1)}` })),
    another: (yaml, clock = true) =>
      startTestGateway({
        yaml: yaml + routesOf(issuer.url, upstream.url),
        policies,
        ...(clock && { clock: base.clock }),
      }),
  };
  return world;
}

/** One route with the limit of the top level, one without a limit, and one for each limit of its own. */
function routesOf(issuer: string, upstream: string): string {
  const to = `upstream: { url: "${upstream}" }`;
  return `authorization_servers:
  main:
    issuer: ${issuer}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: s3cr3t, cache: 10m }
routes:
  - { name: api, path: /api, audience: r, ${to} }
  - { name: other, path: /other, audience: r, ${to} }
  - { name: free, path: /free, audience: r, rate: off, ${to} }
  - { name: strict, path: /strict, audience: r, policy: admin, rate: { requests: 1, per: 1m }, ${to} }
  - { name: tools, path: /mcp, protocol: mcp, audience: r, rate: { requests: 1, per: 90s, burst: 2 }, ${to} }
  - { name: open, path: /open, public: true, rate: { requests: 1, per: 1m }, ${to} }
`;
}

const json = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};

function send(url: string, { token = 'alice', from = '127.0.0.1', headers = {}, message }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      url,
      {
        method: message === undefined ? 'GET' : 'POST',
        localAddress: from,
        headers: {
          ...(token !== '' && { authorization: `Bearer ${token}` }),
          ...(message !== undefined && json),
          ...headers,
        },
      },
      (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      },
    );
    sent.on('error', reject);
    sent.end(message === undefined ? undefined : JSON.stringify(message));
  });
}
