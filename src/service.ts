/**
 * What runs: the listener, and the gateway of the newest configuration behind it.
 *
 * @module
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { createAuthenticators } from './authenticate/authenticator.ts';
import { createServerClient } from './authenticate/server-client.ts';
import { createPools } from './forward/pools.ts';
import { createGateway, type Lasting, type Parts } from './gateway.ts';
import type { Clock } from './lib/clock.ts';
import { listen, type Listener, type OnMalformed } from './listen/server.ts';
import { createOwnerBound } from './mcp/owner-bound.ts';
import type { AuthorizationServer, AuthorizationServerClient, ServerState } from './model/authorization-server.ts';
import type { Config } from './model/config.ts';
import { Denial, refusals } from './model/denial.ts';
import { serve, type Gateway } from './pipeline.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';

/** What the process brings, and what tests set. */
export interface Surroundings {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** A gateway that serves. */
export interface Service {
  readonly url: string;
  /** Each authorization server as it is now. */
  servers(): readonly ServerState[];
  /** Serves by `config` from the next request on; those under way end by the one that they began with. */
  reload(config: Config): void;
  /** Accepts no more, lets requests finish for `graceMs`, then ends what is left. */
  close(graceMs: number): Promise<void>;
}

/**
 * Builds a whole gateway from a configuration and listens. Authorization servers are discovered behind it: one that is
 * away delays nothing but the requests that need it.
 *
 * @throws the system's error where the address cannot be listened on, `EADDRINUSE` among them.
 */
export async function startService(config: Config, surroundings: Surroundings): Promise<Service> {
  const { log, metrics, clock } = surroundings;
  const lasting: Lasting = {
    ...surroundings,
    pools: createPools(),
    authenticators: createAuthenticators(metrics.tokenCache, clock),
  };
  const randomKey = randomBytes(32);
  let parts: Parts = { clients: new Map(), sessions: createOwnerBound(randomKey) };
  let gateway: Gateway;
  use(config);

  function use(next: Config): void {
    const clients = clientsOf(next);
    const sessions = createOwnerBound(next.sessionKey ?? randomKey);
    gateway = createGateway(next, { clients, sessions }, lasting);
    const retired = [...parts.clients].filter(([name, client]) => clients.get(name) !== client);
    for (const [, client] of retired) client.close();
    parts = { clients, sessions };
    metrics.configLoaded(next.hash);
  }

  /** Of a server whose settings stay, so do its metadata, its keys and what it said of tokens. */
  function clientsOf({ authorizationServers }: Config): ReadonlyMap<string, AuthorizationServerClient> {
    return new Map([...authorizationServers].map(([name, server]) => [name, known(server) ?? created(server)]));
  }

  function known(server: AuthorizationServer): AuthorizationServerClient | undefined {
    const client = parts.clients.get(server.name);
    return client !== undefined && isDeepStrictEqual(client.server, server) ? client : undefined;
  }

  function created(server: AuthorizationServer): AuthorizationServerClient {
    return createServerClient(server, metrics.serverCall, clock);
  }

  const onMalformed: OnMalformed = (reason, detail) => {
    const call = { id: randomUUID(), decision: randomUUID(), method: '', startedAt: performance.now() };
    const denial = new Denial(reason, detail);
    gateway.record({
      call,
      route: undefined,
      principal: undefined,
      attempt: undefined,
      allow: false,
      rule: undefined,
      denial,
      shadow: undefined,
      decidedAt: call.startedAt,
    });
    const { status } = refusals[reason];
    gateway.answered(undefined, call, status);
    return { status, requestId: call.id };
  };

  let listener: Listener;
  try {
    listener = await listen(
      config.listen,
      config.limits.requestHeadersBytes,
      (request, response, head) => {
        serve(gateway, request, response, head).catch((error: unknown) => {
          // Even refusing has failed: nobody may wait for an answer that does not come, and the process lives.
          log.event('error', 'a bug', { stack: error instanceof Error ? error.stack : String(error) });
          response.destroy();
        });
      },
      onMalformed,
    );
  } catch (error) {
    await closeParts();
    throw error;
  }

  async function closeParts(): Promise<void> {
    for (const client of parts.clients.values()) client.close();
    await lasting.pools.close();
  }

  return {
    url: listener.url,
    servers: () => [...parts.clients.values()].map((client) => client.state()),
    reload: use,
    async close(graceMs) {
      await listener.close(graceMs);
      await closeParts();
    },
  };
}
