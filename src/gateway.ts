/**
 * The composition root: the only file that knows every stage.
 *
 * @module
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { createAuthenticators } from './authenticate/authenticator.ts';
import { presentedToken } from './authenticate/credentials.ts';
import { createServerClient } from './authenticate/server-client.ts';
import { createActionReader } from './authorize/action.ts';
import { createBindHandles, createSessionId } from './authorize/owner.ts';
import { createAuthorize } from './authorize/authorize.ts';
import { createExchange } from './exchange/exchange.ts';
import type { OwnHeaders } from './forward/response-headers.ts';
import { createForward } from './forward/forward.ts';
import { createPools } from './forward/pools.ts';
import { createForwardUpgrade } from './forward/upgrade.ts';
import type { Clock } from './lib/clock.ts';
import { createHandleBinding } from './mcp/handles-binding.ts';
import { createOwnerBound } from './mcp/owner-bound.ts';
import type { Call } from './model/call.ts';
import { createAllowed } from './listen/allow.ts';
import { readBody } from './listen/body.ts';
import { arrive, canonicalCall } from './listen/call.ts';
import { listen, type Listener, type OnMalformed } from './listen/server.ts';
import type { ServerState } from './model/authorization-server.ts';
import type { Config } from './model/config.ts';
import { Denial, refusals } from './model/denial.ts';
import type { Route } from './model/route.ts';
import { serve, type Gateway, type Stages } from './pipeline.ts';
import { createCrossOrigin } from './respond/cross-origin.ts';
import { createPublish } from './respond/publish.ts';
import { createRefuse } from './respond/refuse.ts';
import { createAdmit, methodsOf } from './route/admit.ts';
import { createRouter } from './route/router.ts';
import { canonicalTarget } from './route/target.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';

/** What outlives a configuration, and what tests set. */
export interface Surroundings {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** A gateway that serves. */
export interface RunningGateway {
  readonly url: string;
  /** Each authorization server as it is now. */
  servers(): readonly ServerState[];
  /** Accepts no more, lets requests finish for `graceMs`, then ends what is left. */
  close(graceMs: number): Promise<void>;
}

/**
 * Builds a whole gateway from a configuration and listens. Authorization servers are discovered behind it: one that is
 * away delays nothing but the requests that need it.
 *
 * @throws the system's error where the address cannot be listened on, `EADDRINUSE` among them.
 */
export async function startGateway(config: Config, { log, metrics, clock }: Surroundings): Promise<RunningGateway> {
  const clients = new Map(
    [...config.authorizationServers].map(([name, server]) => [
      name,
      createServerClient(server, metrics.serverCall, clock),
    ]),
  );
  const pools = createPools();
  const authenticators = createAuthenticators(clients, config.scopeHierarchy, metrics.tokenCache, clock);
  const allowed = createAllowed(config);
  const crossOrigin = createCrossOrigin(allowed.origin);
  const sessions = createOwnerBound(config.sessionKey ?? randomBytes(32));
  const handles = createHandleBinding(sessions);
  const actionParts = { readBody: (call: Call) => readBody(call, config.limits.requestBodyBytes), sessions, handles };
  const forwardParts = { publicUrl: config.publicUrl, pools, observer: metrics, clock };
  const router = createRouter(new Map(config.routes.map((route) => [route.path, stagesOf(route)])));

  function ownHeaders(route: Route): OwnHeaders {
    return {
      crossOrigin: crossOrigin.headers,
      upstreamChallenges: route.upstream.token.kind === 'forward',
      sessionId: createSessionId(route, sessions),
    };
  }

  function stagesOf(route: Route): Stages {
    const authentication = route.public ? undefined : authenticators(route);
    return {
      route,
      allow: allowed.require,
      preflight: (call) => crossOrigin.preflight(call, methodsOf(route)),
      admit: createAdmit(route),
      token: (call) => (route.public ? undefined : presentedToken(call.fields, call.query)),
      authenticate: (token) => (token === undefined ? undefined : authentication?.authenticate(token)),
      readAction: createActionReader(route, actionParts),
      authorize: createAuthorize(route),
      exchange: createExchange(route.upstream, clients, clock),
      revalidation: (token) => (token === undefined ? undefined : () => authentication?.revalidate(token)),
      forward: createForward(route, {
        ...forwardParts,
        own: ownHeaders(route),
        bindHandles: createBindHandles(route, handles),
      }),
      forwardUpgrade: createForwardUpgrade(route, config.publicUrl, metrics, clock),
      refuse: createRefuse(route, methodsOf(route), config.publicUrl, crossOrigin),
    };
  }

  const refuse = createRefuse(undefined, undefined, config.publicUrl, crossOrigin);

  /** The route that a refused call would have met: its clients understand its answers. Decides nothing. */
  function addressed(call: Call): Stages | undefined {
    try {
      return router(canonicalTarget(call.request.url ?? '').path);
    } catch {
      return undefined;
    }
  }

  const gateway: Gateway = {
    arrive,
    canonical: (arrived) => canonicalCall(arrived, canonicalTarget),
    publish: createPublish(config),
    route: (call) => router(call.path),
    refuse: (call, ...rest) => (addressed(call) ?? { refuse }).refuse(call, ...rest),
    record(outcome) {
      metrics.decision(outcome);
      log.decision(outcome);
    },
    answered: metrics.answered,
    failed(call, route, denial) {
      const { reason, detail, cause } = denial;
      const stack = reason === 'gateway.error' && cause instanceof Error ? cause.stack : undefined;
      log.event(stack === undefined ? 'warn' : 'error', 'request failed', {
        request_id: call.id,
        route: route?.name,
        reason,
        detail,
        stack,
      });
    },
  };

  const onMalformed: OnMalformed = (reason, detail) => {
    const call = { id: randomUUID(), method: '', startedAt: performance.now() };
    const denial = new Denial(reason, detail);
    gateway.record({
      decision: randomUUID(),
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
  metrics.configLoaded(config.hash);

  async function closeParts(): Promise<void> {
    for (const client of clients.values()) client.close();
    await pools.close();
  }

  return {
    url: listener.url,
    servers: () => [...clients.values()].map((client) => client.state()),
    async close(graceMs) {
      await listener.close(graceMs);
      await closeParts();
    },
  };
}
