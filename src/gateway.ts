/**
 * The composition root: the only file that knows every stage. One configuration in, what serves by it out.
 *
 * @module
 */

import type { Authenticators } from './authenticate/authenticator.ts';
import { presentedToken } from './authenticate/credentials.ts';
import { createActionReader } from './authorize/action.ts';
import { createAuthorize } from './authorize/authorize.ts';
import { createBindHandles, createSessionId } from './authorize/owner.ts';
import { createExchange } from './exchange/exchange.ts';
import { createForward } from './forward/forward.ts';
import type { Pools } from './forward/pools.ts';
import type { OwnHeaders } from './forward/response-headers.ts';
import { createForwardUpgrade } from './forward/upgrade.ts';
import type { Clock } from './lib/clock.ts';
import { createAllowed } from './listen/allow.ts';
import { readBody } from './listen/body.ts';
import { arrive, canonicalCall } from './listen/call.ts';
import { createHandleBinding } from './mcp/handles-binding.ts';
import type { OwnerBound } from './mcp/owner-bound.ts';
import type { AuthorizationServerClient } from './model/authorization-server.ts';
import type { Call } from './model/call.ts';
import type { Config } from './model/config.ts';
import type { Route } from './model/route.ts';
import type { Gateway, Stages } from './pipeline.ts';
import { createCrossOrigin } from './respond/cross-origin.ts';
import { createPublish } from './respond/publish.ts';
import { createRefuse } from './respond/refuse.ts';
import { createAdmit, methodsOf } from './route/admit.ts';
import { createRouter } from './route/router.ts';
import { canonicalTarget } from './route/target.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';

/** What outlives a configuration: connections, caches, counters. */
export interface Lasting {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly pools: Pools;
  readonly authenticators: Authenticators;
}

/** What belongs to one configuration, and is taken over from the one before where nothing changed in it. */
export interface Parts {
  readonly clients: ReadonlyMap<string, AuthorizationServerClient>;
  readonly sessions: OwnerBound;
}

/** Builds what serves by `config`. Nothing is asked of anybody yet. */
export function createGateway(config: Config, { clients, sessions }: Parts, lasting: Lasting): Gateway {
  const { log, metrics, clock, pools } = lasting;
  const authentication = lasting.authenticators(clients, config.scopeHierarchy);
  const allowed = createAllowed(config);
  const crossOrigin = createCrossOrigin(allowed.origin);
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
    const tokens = route.public ? undefined : authentication(route);
    return {
      route,
      allow: allowed.require,
      preflight: (call) => crossOrigin.preflight(call, methodsOf(route)),
      admit: createAdmit(route),
      token: (call) => (route.public ? undefined : presentedToken(call.fields, call.query)),
      authenticate: (token, call) => (token === undefined ? undefined : tokens?.authenticate(token, call)),
      readAction: createActionReader(route, actionParts),
      authorize: createAuthorize(route),
      exchange: createExchange(route.upstream, clients, clock),
      revalidation: (token) => (token === undefined ? undefined : () => tokens?.revalidate(token)),
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

  return {
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
}
