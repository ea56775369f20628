/**
 * The composition root: the only file that knows every stage. One configuration in, what serves by it out.
 *
 * @module
 */

import type { Authenticators } from '../authenticate/authenticator.ts';
import { createTokenReader } from '../authenticate/credentials.ts';
import type { Nonces } from '../authenticate/nonces.ts';
import { createPossession } from '../authenticate/possession.ts';
import { createProofChecks } from '../authenticate/proof-check.ts';
import { createActionReader } from '../authorize/action.ts';
import { createAuthorize } from '../authorize/authorize.ts';
import { createBindEventId, createBindHandles, createSessionId } from '../authorize/owner.ts';
import type { Exchanges } from '../exchange/exchange.ts';
import { createForwardAuthStages, createForwardAuth } from './forward-auth.ts';
import { createForward, type ForwardParts } from '../forward/forward.ts';
import { identityNames } from '../forward/identity-headers.ts';
import type { OpenStream, OpenStreams } from '../forward/open-streams.ts';
import type { Pools } from '../forward/pools.ts';
import { createCleanAnswer, type CleanAnswer } from '../forward/response-headers.ts';
import { createSignIdentity, type SignIdentity } from '../forward/signed-identity.ts';
import { createForwardUpgrade } from '../forward/upgrade.ts';
import { createUpstreamPath } from '../forward/upstream-path.ts';
import type { Clock } from '../lib/clock.ts';
import type { RotatingKeys } from '../lib/rotating-keys.ts';
import { createQuota } from '../lib/quota.ts';
import { createAllowed } from '../listen/allow.ts';
import { readBody, roomForBodies } from '../listen/body.ts';
import { arrive, canonicalCall } from '../listen/call.ts';
import type { CertificateOf } from '../listen/client-certificate.ts';
import { createClientBehind } from '../listen/trusted-proxies.ts';
import { createFailures } from '../limit/failures.ts';
import { createLimit } from '../limit/limit.ts';
import { createHandleBinding } from '../mcp/handles-binding.ts';
import type { OwnerBound } from '../mcp/owner-bound.ts';
import type { ToolHeaders } from '../mcp/tool-headers.ts';
import type { AuthorizationServerClient } from '../model/authorization-server.ts';
import type { Call } from '../model/call.ts';
import type { Config } from '../model/config.ts';
import { Denial } from '../model/denial.ts';
import type { PresentedToken } from '../model/grant.ts';
import type { RateLimiters } from '../model/limits.ts';
import type { Route } from '../model/route.ts';
import type { ReplayMemory } from '../model/shared.ts';
import type { Gateway, Stages } from '../pipeline.ts';
import { createCrossOrigin } from '../respond/cross-origin.ts';
import { createKeySet } from '../respond/key-set.ts';
import { createPublish } from '../respond/publish.ts';
import { createRefuse } from '../respond/refuse.ts';
import { createAdmit, methodsOf } from '../route/admit.ts';
import { createRouter } from '../route/router.ts';
import { canonicalTarget } from '../route/target.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** What outlives a configuration: connections, caches, counters. */
export interface ProcessScope {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** As the listener asks for client certificates. */
  readonly certificateOf: CertificateOf;
  readonly pools: Pools;
  readonly authenticators: Authenticators;
  readonly limiters: RateLimiters;
  /** Proofs of possession that were used. */
  readonly replays: ReplayMemory;
  readonly exchanges: Exchanges;
  readonly streams: OpenStreams;
  /** What the tools of an upstream declare, by its URL. */
  readonly toolHeaders: (upstreamUrl: string) => ToolHeaders;
  /** Asks about the token of a call that goes on, by the newest configuration: an older one may know secrets that hold no longer. */
  readonly revalidate: (token: PresentedToken, call: Call) => Promise<unknown>;
}

/** What belongs to one configuration, and is taken over from the one before where nothing changed in it. */
export interface ConfigScope {
  readonly clients: ReadonlyMap<string, AuthorizationServerClient>;
  readonly sessions: OwnerBound;
  /** What proofs of possession carry, where a route wants it. */
  readonly nonces: Nonces;
  /** What identities for upstreams are signed with. */
  readonly identityKeys: RotatingKeys;
}

/** What serves by one configuration. */
export interface ConfiguredGateway extends Gateway {
  /**
   * Lets a stream stay open that this configuration would open too, for its caller and to the same upstream.
   *
   * @throws {Denial} for any other.
   */
  reconsider(stream: OpenStream): void;
  /** Asks whether a token holds on the route of `call`, past every cache. */
  revalidate(token: PresentedToken, call: Call): Promise<unknown>;
  /** Decides for proxies, which forward what may pass themselves. */
  readonly forwardAuth: Gateway;
}

interface ServedRoute extends Stages {
  reconsider(stream: OpenStream): void;
  revalidate(token: PresentedToken, client?: string): Promise<unknown>;
  /** For questions of proxies. */
  readonly forwardAuthStages: Stages;
}

/** Builds what serves by `config`. Nothing is asked of anybody yet. */
export function createGateway(
  config: Config,
  { clients, sessions, nonces, identityKeys }: ConfigScope,
  lasting: ProcessScope,
): ConfiguredGateway {
  const { log, metrics, clock, pools, replays, limiters, streams } = lasting;
  const unlisted =
    'limits.failures refuses an address that sends X-Forwarded-For; add your own proxy to trusted_proxies';
  const warnOfProxy = (address: string): void => log.event('warn', unlisted, { address });
  const failures = createFailures(config.limits.failures, { limiters, clock, warnOfProxy });
  const authentication = lasting.authenticators(clients, config.scopeHierarchy, failures);
  const proofChecks = createProofChecks({ publicUrl: config.publicUrl, nonces, replays, clock });
  const clientBehind = createClientBehind(config.trustedProxies, config.certificateProxies);
  const allowed = createAllowed(config);
  const crossOrigin = createCrossOrigin(allowed.origin);
  const handles = createHandleBinding(sessions, clock);
  const { requestBodyBytes } = config.limits;
  const room = createQuota(roomForBodies(requestBodyBytes));
  const actionParts = { readBody: (call: Call) => readBody(call, requestBodyBytes, room), sessions, handles };
  const claimed = identityNames(config.routes);
  const forwardParts = { publicUrl: config.publicUrl, claimed, pools, streams, observer: metrics, clock };
  const forwardAuthParts = { readBody: actionParts.readBody, config, crossOrigin, claimed };
  const router = createRouter(new Map(config.routes.map((route) => [route.path, stagesOf(route)])));

  function cleanAnswerOf(route: Route): CleanAnswer {
    return createCleanAnswer({
      isPublic: route.public,
      allowedCommands: route.upstream.allowedCommands,
      crossOrigin: crossOrigin.headers,
      upstreamChallenges: route.upstream.token.kind === 'forward',
      nonce: nonceOf(route),
      sessionId: createSessionId(route, sessions),
    });
  }

  function signIdentityOf({ upstream: { signedIdentity } }: Route): SignIdentity | undefined {
    return signedIdentity && createSignIdentity(signedIdentity, config.publicUrl, identityKeys, clock);
  }

  function nonceOf({ dpop }: Route): (() => string) | undefined {
    return dpop?.nonce === true ? nonces.current : undefined;
  }

  function stagesOf(route: Route): ServedRoute {
    const toolHeaders = lasting.toolHeaders(route.upstream.origin + route.upstream.path);
    const signIdentity = signIdentityOf(route);
    const tokens = route.public ? undefined : authentication(route, createPossession(route.dpop, proofChecks));
    const revalidate = async (token: PresentedToken, client?: string): Promise<unknown> =>
      tokens?.revalidate(token, client);
    const exchange = lasting.exchanges(route, { clients, revalidate });
    const authorize = createAuthorize(route);
    const forwarding: ForwardParts = {
      ...forwardParts,
      cleanAnswer: cleanAnswerOf(route),
      signIdentity,
      bindHandles: createBindHandles(route, handles),
      bindEventId: createBindEventId(route, sessions),
      toolHeaders,
      onUnauthorized: exchange.onUnauthorized,
    };
    const stages: Stages = {
      route,
      allow: allowed.require,
      preflight: (call) => crossOrigin.preflight(call, methodsOf(route)),
      admit: createAdmit(route),
      token: route.public ? () => undefined : createTokenReader(route.dpop !== undefined),
      authenticate: (token, call) => (token === undefined ? undefined : tokens?.authenticate(token, call)),
      limit: createLimit(route, limiters),
      readAction: createActionReader(route, { ...actionParts, toolHeaders }),
      authorize,
      exchange: exchange.credential,
      hold: (token, call) => token && { token, revalidate: () => lasting.revalidate(token, call) },
      forward: createForward(route, forwarding),
      forwardUpgrade: createForwardUpgrade(route, forwarding),
      refuse: createRefuse(route, methodsOf(route), config.publicUrl, crossOrigin, nonceOf(route)),
    };
    return {
      ...stages,
      forwardAuthStages: createForwardAuthStages(stages, forwardAuthParts, {
        toolHeaders,
        signIdentity,
        nonce: nonceOf(route),
      }),
      reconsider(stream) {
        const { call, grant, held, isUpgrade } = stream;
        if (stream.route.protocol !== route.protocol || leadsTo(stream.route, call) !== leadsTo(route, call)) {
          throw new Denial('route.unknown', 'its path leads elsewhere now');
        }
        stages.allow(call);
        stages.admit(call, isUpgrade);
        const known = grant.principal;
        const principal = known && held && tokens ? tokens.accept(known, held.token) : known;
        authorize(principal, grant.action);
        stream.revalidateEvery(route.revalidateMs);
      },
      revalidate,
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
    arrive: (request, response) => arrive(request, response, lasting.certificateOf),
    canonical: (arrived) => canonicalCall(arrived, canonicalTarget, clientBehind),
    publish: createPublish(config, createKeySet(config, identityKeys, clock)),
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
  return {
    ...gateway,
    reconsider: (stream) => router(stream.call.path).reconsider(stream),
    revalidate: async (token, call) => router(call.path).revalidate(token, call.client),
    forwardAuth: createForwardAuth(gateway, (call) => router(call.path).forwardAuthStages, forwardAuthParts),
  };
}

/** Where a call on `route` ends. */
function leadsTo(route: Route, { path, query }: Call): string {
  return route.upstream.origin + createUpstreamPath(route)(path, query);
}
