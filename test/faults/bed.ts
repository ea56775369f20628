import { randomUUID } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { Agent } from 'node:http';
import { WebSocketServer } from 'ws';
import type { Clock } from '../../src/core/lib/clock.ts';
import { startEditedGateway, type EditedGateway } from '../support/gateway.ts';
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy.ts';
import { startFaultServer, type FaultServer } from '../support/fault-server.ts';
import { hasRedis, startRedis, type Redis } from '../support/redis.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { answerOfUpstream } from './answers.ts';

/** Who may fail: each is reached by a wire of its own. */
export type Party = 'upstream' | 'authorization server' | 'shared store' | 'client';

/** A gateway between parties that all fail on demand. */
export interface Bed {
  readonly gateway: EditedGateway;
  readonly server: FaultServer;
  readonly upstream: Upstream;
  /** Undefined where this machine has none. */
  readonly redis: Redis | undefined;
  readonly wires: Readonly<Record<Party, FaultProxy | undefined>>;
  /** Where clients call: a wire before the gateway. */
  readonly url: string;
  /** The connections of the clients. */
  readonly agent: Agent;
  /** The gateway's. */
  readonly clock: Clock;
  /** Lets time pass for the gateway: no circuit waits in tests. */
  advance(seconds: number): void;
  /** Decides who may call `/edited`, and waits until that is in force. */
  require(scope: string): Promise<void>;
  token(claims?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

/** The timeouts that the gateway has: by then it has an answer, whatever the other does. */
interface Timeouts {
  readonly connectMs: number;
  readonly responseMs: number;
  readonly serverMs: number;
}

const short: Timeouts = { connectMs: 500, responseMs: 1_000, serverMs: 500 };
/** Where no timeout is awaited: no machine is so slow that it meets one. */
export const long: Timeouts = { connectMs: 60_000, responseMs: 60_000, serverMs: 60_000 };

const policies = {
  reader: 'scope: read\n',
  edited: 'scope: read\n',
  tools: 'scope: read\ntools: { "get_*": {} }\n',
};

/** Starts all of it. */
export async function startBed(timeouts = short): Promise<Bed> {
  const [server, upstream] = await Promise.all([startFaultServer(), startUpstream(answerOfUpstream)]);
  // Who closes an idle connection first is the gateway, however late it gets to it.
  for (const each of [server.issuer.server, upstream.server]) each.keepAliveTimeoutBuffer = 60_000;
  const redis = hasRedis ? await startRedis() : undefined;
  const echo = new WebSocketServer({ server: upstream.server });
  echo.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('message', (message) => socket.send(message));
  });
  const wires: Record<Party, FaultProxy | undefined> = {
    upstream: await startFaultProxy(portOf(upstream.url), 'client'),
    'authorization server': await startFaultProxy(portOf(server.url), 'client'),
    'shared store': redis && (await startFaultProxy(redis.port, 'client')),
    client: undefined,
  };
  let passedMs = 0;
  const clock = (): number => Date.now() + passedMs;
  const gateway = await startEditedGateway(yamlOf(server.url, wires, timeouts), policies, clock);
  const client = await startFaultProxy(portOf(gateway.url), 'server');
  const agent = new Agent({ keepAlive: true });
  return {
    gateway,
    server,
    upstream,
    redis,
    wires: { ...wires, client },
    url: `http://127.0.0.1:${client.port}`,
    agent,
    clock,
    advance(seconds) {
      passedMs += seconds * 1000;
    },
    async require(scope) {
      await gateway.save('policies/edited.yaml', `scope: ${scope} # ${randomUUID()}\n`);
    },
    token: (claims) => server.issuer.sign({ aud: 'r', scope: 'read', exp: inAWeek(), ...claims }),
    async close() {
      agent.destroy();
      echo.close();
      await gateway.close();
      for (const wire of [...Object.values(wires), client]) await wire?.close();
      await Promise.all([server.close(), upstream.close(), redis?.close()]);
    },
  };
}

function yamlOf(
  issuer: string,
  wires: Readonly<Record<Party, FaultProxy | undefined>>,
  { connectMs, responseMs, serverMs }: Timeouts,
): string {
  const { upstream, 'authorization server': server, 'shared store': store } = wires;
  const to = `url: "http://127.0.0.1:${upstream?.port}", timeouts: { connect: ${connectMs}ms, response: ${responseMs}ms }`;
  return `
session_key: k3y-of-at-least-thirty-two-characters
${store === undefined ? '' : `shared: redis://127.0.0.1:${store.port}`}
authorization_servers:
  main:
    issuer: ${issuer}
    backchannel: http://127.0.0.1:${server?.port}
    timeout: ${serverMs}ms
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: secret }
limits: { failures: { requests: 1000000, per: 1s }, rate: { requests: 1000000, per: 1s } }
routes:
  - { name: api, path: /api, audience: r, policy: reader, upgrade: websocket, upstream: { ${to} } }
  - { name: edited, path: /edited, audience: r, policy: edited, upstream: { ${to} } }
  - { name: tools, path: /mcp, protocol: mcp, audience: r, policy: tools, upstream: { ${to} } }
  - { name: proven, path: /proven, audience: r, dpop: { proof_lifetime: 5m }, upstream: { ${to} } }
  - { name: open, path: /public, public: true, upstream: { ${to} } }
  - name: exchanged
    path: /exchanged
    audience: r
    upstream: { ${to}, token: exchange, exchange: { audience: https://api.example } }
`;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** The gateway may live ahead of time. */
export function inAWeek(): number {
  return Math.floor(Date.now() / 1000) + 7 * 86_400;
}

/** What of this process is open: of a bed that is closed nothing may be left. */
export function openNow(): { readonly sockets: number; readonly servers: number; readonly descriptors: number } {
  const resources = process.getActiveResourcesInfo();
  const descriptors = readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).startsWith('socket:'));
  return {
    sockets: resources.filter((name) => name === 'TCPSocketWrap').length,
    servers: resources.filter((name) => name === 'TCPServerWrap').length,
    descriptors: descriptors.length,
  };
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // The one that listed them.
    return '';
  }
}
