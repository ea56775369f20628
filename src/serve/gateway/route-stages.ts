/**
 * The wiring of one route: every stage of {@link Stages}, built from the settings of the route and its configuration.
 *
 * @module
 */

import { type Authentication, type Authenticators, createRevocationGuard } from '../../tokens/authenticator.ts';
import { createTokenReader } from '../../tokens/credentials.ts';
import { createPossession } from '../../tokens/possession.ts';
import { createAuthorize, createRequestReader } from '../../core/gateway/authorize/authorize.ts';
import type { ConnectionPools } from '../../core/gateway/forward/connection-pool.ts';
import { credentialSource } from '../../core/gateway/forward/credential.ts';
import { createRewriteLocation } from '../../core/gateway/forward/locations.ts';
import { createForward } from '../../core/gateway/forward/forward.ts';
import { identityNames } from '../../core/gateway/forward/identity-headers.ts';
import type { OpenStream, OpenStreams } from '../../core/gateway/forward/open-streams.ts';
import { createCleanAnswer } from '../../core/gateway/forward/response-headers.ts';
import { createUpstreamPath } from '../../core/gateway/forward/upstream-request.ts';
import type { Gate } from '../../core/model/gate.ts';
import type { OnRoute, ProofTaker } from '../../core/model/on-route.ts';
import type { Quota } from '../../core/lib/fair-share.ts';
import type { Allowed } from '../../core/gateway/listen/allow.ts';
import { readBody } from '../../core/gateway/listen/body.ts';
import { createFailures } from '../../tokens/failures.ts';
import { createLimit } from '../../core/gateway/limit/limit.ts';
import type { UnderWay } from '../../core/gateway/limit/under-way.ts';
import type { createServerAnswers } from './server-answers.ts';
import type { McpRoute, OpenMcpRoute } from '../../mcp/mcp-route.ts';
import type { Config } from '../../ports/config.ts';
import type { Call } from '../../core/model/call.ts';
import type { CallRight, Grant, HeldToken, PresentedToken } from '../../core/model/grant.ts';
import { Denial } from '../../core/model/denial.ts';
import { ownCookies } from '../../core/model/fields.ts';
import type { Principal } from '../../core/model/principal.ts';
import { isRoute, type Route } from '../../core/model/route.ts';
import type { Endpoint } from '../../core/model/endpoint.ts';
import type { Gateway, Stages } from '../../core/gateway/pipeline.ts';
import { createCrossOrigin, type CrossOrigin } from '../../core/gateway/respond/cross-origin.ts';
import { createRefuse } from '../../core/gateway/respond/refuse.ts';
import { createAdmit, createAdmitUpgrade, methodsOf } from '../../core/gateway/route/admit.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { CertificateOf } from '../../core/gateway/listen/certificates.ts';
import { revocations } from '../../capabilities/all.ts';
import type { Opened, OwnEndpoint, OwnListener } from '../../capabilities/capability.ts';
import type { AuthorizationServerClient } from '../../ports/authorization-server-client.ts';
import type { Events } from '../../core/model/events.ts';
import type { Failures } from '../../ports/shared.ts';
import type { RateLimiters } from '../../core/model/rate-limiter.ts';
import type { KeptRevocations } from '../../capabilities/capability.ts';
import type { Log } from '../../core/telemetry/log.ts';

/** An endpoint of one configuration, and its stages. */
interface ServedEndpoint extends Stages {
  /** The stages at each of `ProcessScope.listeners`. */
  readonly listeners: readonly Stages[];
  /** Undefined on a public route. */
  readonly authentication: Authentication | undefined;
  /** As `ConfiguredGateway.reconsider`. */
  reconsider(open: OpenCall): number | undefined;
}

/** The rules for browsers, which all routes of a configuration share. */
interface BrowserRules {
  readonly allowed: Allowed;
  readonly crossOrigin: CrossOrigin;
}

/** CORS of the front door: a page of any origin can be a client, and cookies are never sent with its requests. */
const anyOrigin = createCrossOrigin(() => true);

/** `createAdmitUpgrade` refuses each handshake before. */
const noUpgrade: Stages['forwardUpgrade'] = async () => {
  throw new TypeError('no route takes WebSockets');
};

/** The wiring of one configuration. */
export interface Wiring {
  readonly ofRoute: (route: Route) => ServedEndpoint;
  readonly ofOwn: (own: OwnEndpoint) => ServedEndpoint;
}

/** Creates the wiring of the endpoints of `config`. */
export function createWiring(
  config: Config,
  configScope: ConfigScope,
  processScope: ProcessScope,
  { allowed, crossOrigin: ofAllowed }: BrowserRules,
): Wiring {
  const { clients, limiters, capabilities, room } = configScope;
  const { events, clock, connections, streams, listeners, newest } = processScope;
  const { publicUrl } = config;
  const failures = createFailureLimit(config, configScope, processScope);
  const ending = revocations?.settingsOf(config);
  const guard =
    ending && processScope.revocation && createRevocationGuard(processScope.revocation.check, ending.keepMs, clock);
  const authentications = processScope.authenticators(clients, config.scopeHierarchy, failures, guard);
  const { requestBodyBytes } = config.limits;
  const claimed = identityNames(config.routes);
  const upgrades = capabilities.map(({ forwardUpgrade }) => forwardUpgrade).find((each) => each !== undefined);

  return { ofRoute, ofOwn };

  /** The stages up to the decision, and the answer to a refusal. */
  function callerStages<Of extends Endpoint>(route: Of, crossOrigin: CrossOrigin, proofs: ProofTaker | undefined) {
    const authentication = route.public ? undefined : authentications(route, createPossession(route, proofs?.check));
    const methods = methodsOf(route);
    const toleranceOf = new Map(route.authorizationServers.map((each) => [each.issuer, each.clockToleranceMs]));
    const stages = {
      route,
      allow: allowed.require,
      preflight: (call: Call) => crossOrigin.preflight(call, methods),
      admit: createAdmit(route),
      token: route.public ? () => undefined : createTokenReader(route.proofs !== undefined),
      authenticate: (token: PresentedToken | undefined, call: Call) =>
        token === undefined ? undefined : authentication?.authenticate(token, call),
      accept: (principal: Principal | undefined, token: PresentedToken | undefined, call: Call) =>
        principal === undefined || token === undefined
          ? stages.authenticate(token, call)
          : authentication?.accept(principal, token),
      enter: (call: Call, principal: Principal | undefined) =>
        processScope.underWay.enter(call, principal, config.limits.calls),
      leave: processScope.underWay.leave,
      limit: createLimit(route, limiters),
      hold: (token: PresentedToken | undefined, call: Call) =>
        token && { token, revalidate: () => newest().revalidate(token, call) },
      confirm(right: CallRight) {
        const { expiresAt = Infinity, issuer = '' } = right.grant.principal ?? {};
        if (expiresAt * 1000 + (toleranceOf.get(issuer) ?? 0) <= clock())
          throw new Denial('token.expired', 'the token expired while the call was under way');
        requireRight(route, right);
      },
    };
    return { stages, authentication, refusing: { methods, publicUrl, crossOrigin, nonce: proofs?.nonce } };
  }

  /** Requires that nothing has ended the right of a caller since its token was read. @throws {Denial} */
  function requireRight(route: Endpoint, right: CallRight): void {
    const { principal } = right.grant;
    if (principal !== undefined) guard?.requireNotRevoked(principal);
    processScope.requireRight(configScope, route, right);
  }

  /** Calls of an endpoint that the gateway itself answers: no gate, no credential, no proxy asks about them. */
  function ofOwn({ endpoint, answer, read, receive }: OwnEndpoint): ServedEndpoint {
    const { stages, authentication, refusing } = callerStages(endpoint, ofAllowed, undefined);
    const refuseAll = (detail: string) => (): never => {
      throw new Denial('route.unknown', detail);
    };
    const readRequest = createRequestReader(endpoint);
    const own: Stages = {
      ...stages,
      preflight: (call) => stages.preflight(call) || receive?.(call) === true,
      admitUpgrade: createAdmitUpgrade({ upgrade: undefined }),
      readAction: read === undefined ? readRequest : async (call) => ({ ...readRequest(call), body: await read(call) }),
      authorize: createAuthorize(endpoint, clock, false),
      gates: [],
      credential: { obtain: () => undefined },
      forward: (granted) => answer(granted, ofAllowed.headers(granted.call)),
      forwardUpgrade: refuseAll('the gateway itself upgrades nothing'),
      refuse: createRefuse(endpoint, refusing),
    };
    return {
      ...own,
      authentication,
      listeners: listeners.map((listener) => listener.ownStagesOf(own)),
      reconsider({ route: before, call, grant, held }) {
        if (!before.isOwn) throw new Denial('route.unknown', 'its path leads elsewhere now');
        own.allow(call);
        own.admit(call);
        own.authorize(accepted(authentication, grant, held), grant.action);
        return undefined;
      },
    };
  }

  function ofRoute(route: Route): ServedEndpoint {
    const crossOrigin = route.isFrontDoor ? anyOrigin : ofAllowed;
    const mcp = route.protocol === 'mcp' ? mcpRoute(route) : undefined;
    const revalidate = async (token: PresentedToken): Promise<unknown> => authentication?.revalidate(token);
    const stateOf = (grant: Grant): string => mcp?.giveApprovalState(grant) ?? '';
    const onRoute: readonly OnRoute[] = capabilities.map((each, index) =>
      each.of(route, { revalidate, stateOf, later: () => gatesOf(onRoute.slice(index + 1)) }),
    );
    const gates = gatesOf(onRoute);
    const readRequest = createRequestReader(route);
    const proofs = onRoute.find((each) => each.proofs !== undefined)?.proofs;
    const { stages: ofCaller, authentication, refusing } = callerStages(route, crossOrigin, proofs);
    const { nonce } = refusing;
    const credential = credentialSource(route, onRoute);
    const askAboutList = onRoute.find((each) => each.askAboutList !== undefined)?.askAboutList;
    const forwarding = {
      publicUrl,
      claimed,
      connections,
      streams,
      observer: events,
      clock,
      messages: mcp?.messages({
        answers: onRoute.map(({ answers }) => answers).filter((part) => part !== undefined),
        askAboutList,
        onWithheld: config.log.lists ? events.listed : undefined,
      }),
      states: onRoute.flatMap(({ states }) => states ?? []),
      onUnauthorized: credential.onUnauthorized,
      requireRight: (right: CallRight) => requireRight(route, right),
      onBegun: onRoute.find(({ begun }) => begun !== undefined)?.begun,
      cleanAnswer: createCleanAnswer({
        isPublic: route.public,
        allowedCommands: route.upstream.allowedCommands,
        location: route.upstream.keepsLocations ? undefined : createRewriteLocation(route, publicUrl),
        crossOrigin: crossOrigin.headers,
        reservedCookies: route.isFrontDoor ? ownCookies.admin : ownCookies.all,
        upstreamChallenges: route.isFrontDoor || route.upstream.token === 'forward',
        nonce,
        // On an HTTP route the header has no meaning.
        sessionId: (theirs, grant) => (mcp === undefined ? theirs : mcp.giveSession(theirs, grant)),
      }),
    };
    const stages: Stages & { readonly route: Route } = {
      ...ofCaller,
      ...(route.isFrontDoor && { allow: allowed.requireHost }),
      admitUpgrade: createAdmitUpgrade(route),
      readAction: mcp?.readAction ?? readRequest,
      authorize: createAuthorize(
        route,
        clock,
        onRoute.some(({ readsArguments }) => readsArguments),
      ),
      gates,
      credential,
      forward: createForward(route, forwarding),
      forwardUpgrade: upgrades?.(route, forwarding) ?? noUpgrade,
      refuse: createRefuse(route, {
        ...refusing,
        elicits: route.protocol === 'mcp',
        toolErrorPath: route.finalRefusals === 'tool_error' ? route.path : undefined,
      }),
    };
    return {
      ...stages,
      authentication,
      listeners: listeners.map((listener) =>
        listener.stagesOf(stages, {
          ...forwarding,
          readAction: mcp?.readQuestion ?? readRequest,
          crossOrigin,
          nonce,
        }),
      ),
      reconsider({ route: before, call, grant, held, isUpgrade, isSent }) {
        const isElsewhere =
          !isRoute(before) || (isSent !== true && upstreamUrl(before, call) !== upstreamUrl(route, call));
        if (isElsewhere || before.protocol !== route.protocol)
          throw new Denial('route.unknown', 'its path leads elsewhere now');
        stages.allow(call);
        stages.admit(call);
        if (isUpgrade) stages.admitUpgrade(call);
        // Whether the request itself decides is for each configuration.
        const action = route.protocol === 'http' ? readRequest(call) : grant.action;
        const anew = stages.authorize(accepted(authentication, grant, held), action);
        for (const gate of gates) gate.reconsider?.(anew);
        return route.revalidateMs;
      },
    };
  }

  /** @throws {TypeError} where its code is not loaded: a route that reads no message must not serve in its place. */
  function mcpRoute(route: Route): McpRoute {
    if (configScope.openMcp === undefined) throw new TypeError(`route ${route.name}: MCP is not loaded`);
    return configScope.openMcp(route, {
      readBody: (call) => readBody(call, requestBodyBytes, room),
      limits: config.limits.json,
    });
  }
}

/** Creates the limit of failures of `config`. All share their counts. */
export function createFailureLimit(
  { limits }: Config,
  { limiters }: Pick<ConfigScope, 'limiters'>,
  { log, clock }: Pick<ProcessScope, 'log' | 'clock'>,
): Failures {
  const advice = 'limits.failures refuses an address that sends X-Forwarded-For; add your own proxy to trusted_proxies';
  const warnOfProxy = (address: string): void => log.event('warn', advice, { address });
  return createFailures(limits.failures, { limiters, clock, warnOfProxy });
}

function gatesOf(onRoute: readonly OnRoute[]): readonly Gate[] {
  return onRoute.map(({ gate }) => gate).filter((gate) => gate !== undefined);
}

/** The caller of a call in progress, under the settings of a route. @throws {Denial} for one that it would refuse. */
function accepted(
  authentication: Authentication | undefined,
  { principal }: Grant,
  held: HeldToken | undefined,
): Principal | undefined {
  return principal && held && authentication ? authentication.accept(principal, held.token) : principal;
}

function upstreamUrl(route: Route, { path, query }: Call): string {
  return route.upstream.origin + createUpstreamPath(route)(path, query);
}

/** The parts that live as long as the process: connections, caches, counters. */
export interface ProcessScope {
  readonly log: Log;
  readonly events: Events;
  readonly clock: Clock;
  /** The certificate that a client proved to hold, as the listener verifies it. */
  readonly certificateOf: CertificateOf;
  readonly connections: ConnectionPools;
  readonly underWay: UnderWay;
  readonly authenticators: Authenticators;
  /** Undefined: the process started without `revocation`. */
  readonly revocation: KeptRevocations | undefined;
  readonly streams: OpenStreams;
  /** Those besides the listener of clients. */
  readonly listeners: readonly OwnListener[];
  /**
   * The gateway of the newest configuration. A stream asks it about its token: the configuration that opened the stream
   * may hold secrets that are no longer valid.
   */
  readonly newest: () => ConfiguredGateway;
  /**
   * Requires that a call in progress on a route of `scope` has kept its right: its token was not refused since, and the
   * newest configuration allows it. @throws {Denial}
   */
  readonly requireRight: (scope: ConfigScope, route: Endpoint, right: CallRight) => void;
}

/** The parts of one configuration. Clients are kept from the previous one if their settings are equal. */
export interface ConfigScope {
  readonly clients: ReadonlyMap<string, AuthorizationServerClient>;
  readonly limiters: RateLimiters;
  /** In bytes, for bodies that are read: that of the previous one if its size is equal, with what is taken. */
  readonly room: Quota;
  readonly capabilities: readonly Opened[];
  /** Undefined without an MCP route. */
  readonly openMcp: OpenMcpRoute | undefined;
  /** Undefined without a front door and `oauth_endpoints_at_root`. */
  readonly serverAnswers: typeof createServerAnswers | undefined;
}

/** A call in progress, on its route in the configuration that allowed it. */
interface OpenCall extends CallRight, Pick<OpenStream, 'isUpgrade'> {
  readonly route: Endpoint;
  /** Whether it is on its way to the upstream of that configuration, and may end there. Default: no. */
  readonly isSent?: boolean;
}

/** The gateway of one configuration. */
export interface ConfiguredGateway extends Gateway {
  /**
   * Lets a call in progress go on, such as a stream, if this configuration would allow it too, for the same caller and
   * to the same upstream.
   *
   * @returns how often the token of a stream is validated again, in milliseconds; undefined: as without a setting.
   * @throws {Denial} for any other call.
   */
  reconsider(open: OpenCall): number | undefined;
  /**
   * Validates the token of a call in progress again, past every cache, on the route of its path in this configuration.
   *
   * @throws {Denial} where the token is no longer valid.
   */
  revalidate(token: PresentedToken, call: Call): Promise<unknown>;
  /** The gateway behind each of {@link ProcessScope.listeners}. */
  readonly listeners: readonly Gateway[];
}
