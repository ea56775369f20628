import { Agent, request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { Ledger } from '../ledger.ts';
import { users, type User } from '../tokens.ts';
import type { World } from '../world.ts';

/** An HTTP request and its possible outcomes. */
interface Ask {
  readonly route: string;
  readonly kind: string;
  readonly expected: readonly number[];
  readonly path: string;
  readonly method?: string;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The client's address. The gateway counts refused tokens by address. */
  readonly from?: Address;
  /** Reads the answer. Without it, the client reads the answer to its end. */
  readonly read?: (response: IncomingMessage) => Promise<unknown>;
  /** The client leaves when this emits an event with the name of the request's `traceparent`. */
  readonly leaveAt?: NodeJS.EventEmitter;
}

type Address = '127.0.0.1' | '127.0.0.2' | '127.0.0.3';

/** Clients that speak plain HTTP. */
export interface Plain {
  /** Sends a request. Resolves after any outcome. */
  readonly ask: (ask: Ask) => Promise<void>;
  close(): void;
}

/** Few idle connections, used in turn. The gateway may close an idle connection just when the client uses it again. */
const KEPT = 2;

/** Creates clients with persistent connections, like browsers and SDKs. */
export function createPlain(url: string, ledger: Ledger): Plain {
  const agents = new Map<Address, Agent>(
    (['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const).map((from) => [
      from,
      new Agent({ keepAlive: true, scheduling: 'fifo', maxFreeSockets: KEPT }),
    ]),
  );
  return {
    async ask({
      route,
      kind,
      expected,
      path,
      method = 'GET',
      token,
      from = '127.0.0.1',
      body,
      read,
      leaveAt,
      ...rest
    }) {
      const sent = ledger.send(route, kind, expected);
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const headers = { ...sent.headers, ...authorization, ...length, ...rest.headers };
      const outgoing = request(url + path, { method, headers, agent: agents.get(from), localAddress: from });
      // An error may also come after the answer.
      outgoing.on('error', () => {}).end(body);
      let answered = false;
      try {
        const reached = leaveAt && once(leaveAt, sent.headers.traceparent).then(() => undefined);
        const answer = once(outgoing, 'response').then(([response]) => response as IncomingMessage);
        const response = await Promise.race(reached === undefined ? [answer] : [answer, reached]);
        if (response === undefined) {
          // The answer is no longer needed.
          answer.catch(() => undefined);
          outgoing.destroy();
          return sent.left();
        }
        answered = true;
        sent.answered(response.statusCode ?? 0);
        if (read !== undefined) await read(response);
        else for await (const _ of response);
      } catch (error) {
        if (!answered) sent.broke(String(error));
      }
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

/** Kinds of plain requests, each with its share in percent. */
export function plainKinds(
  { ask }: Plain,
  { tokens, api, mcp }: World,
): readonly (readonly [number, () => Promise<void>])[] {
  const user = (): User => users[Math.floor(Math.random() * users.length)] as User;
  // One of the edits excludes bob.
  const allowed = (who: User): readonly number[] => (who === 'bob' ? [200, 403] : [200]);
  const order = JSON.stringify({ order: 'x'.repeat(1_000) });
  const stranger = { route: 'api', path: '/api/data' };

  return [
    [38, withUser((who) => ({ ...stranger, kind: 'GET, JWT', expected: allowed(who), token: tokens.jwt(who) }))],
    [22, withUser((who) => ({ ...stranger, kind: 'GET, opaque', expected: allowed(who), token: tokens.opaque(who) }))],
    [
      20,
      withUser((who) => ({
        route: 'api',
        kind: 'POST',
        expected: allowed(who),
        path: '/api/orders',
        method: 'POST',
        token: tokens.jwt(who),
        body: order,
      })),
    ],
    [4, () => ask({ ...stranger, kind: 'no token', expected: [401] })],
    // After a hundred invalid tokens a minute, the gateway answers 429.
    [
      3,
      () => ask({ ...stranger, kind: 'made up', expected: [401, 429], token: crypto.randomUUID(), from: '127.0.0.2' }),
    ],
    [2, () => ask({ ...stranger, kind: 'no JWT', expected: [401, 429], token: 'ey.ey.ey', from: '127.0.0.2' })],
    [3, () => ask({ ...stranger, kind: 'expired', expected: [401, 429], token: tokens.expired(), from: '127.0.0.3' })],
    [
      2,
      withUser((who) => ({
        ...stranger,
        kind: 'for another audience',
        expected: [401, 429],
        token: tokens.mcp(who, mcp.stateless),
        from: '127.0.0.3',
      })),
    ],
    [2, () => ask({ route: '', kind: 'no route', expected: [404], path: '/nowhere' })],
    [1, () => ask({ ...stranger, kind: 'DELETE', expected: [405], method: 'DELETE', token: tokens.jwt('alice') })],
    [
      1,
      () =>
        ask({
          route: 'api',
          kind: 'given up',
          expected: [],
          path: '/api/slow',
          token: tokens.jwt('alice'),
          leaveAt: api.unanswered,
        }),
    ],
    [
      2,
      withUser((who) => ({
        route: 'mcp',
        kind: 'no JSON',
        expected: [400],
        path: '/mcp',
        method: 'POST',
        token: tokens.mcp(who, mcp.stateless),
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: '{"jsonrpc"',
      })),
    ],
  ];

  function withUser(of: (who: User) => Ask): () => Promise<void> {
    return () => ask(of(user()));
  }
}
