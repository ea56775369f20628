import { randomBytes, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { createAuthenticators } from '../tokens/authenticator.ts';
import { tokenKey } from '../tokens/cached-verifier.ts';
import { createServerClient } from '../tokens/servers/client.ts';
import { StreamIndex, type OpenStream } from '../core/gateway/forward/open-streams.ts';
import { bodyQuotaBytes } from '../core/gateway/listen/body.ts';
import { createQuota, type Quota } from '../core/lib/fair-share.ts';
import { loadOnce } from '../core/lib/single-flight.ts';
import { UnderWay } from '../core/gateway/limit/under-way.ts';
import { ConnectionPools } from '../core/gateway/forward/connection-pool.ts';
import { createGateway } from './gateway/gateway.ts';
import { openEgress, revocations } from '../capabilities/all.ts';
import type { KeptRevocations, OwnListener, Tracing } from '../capabilities/capability.ts';
import type { ConfigScope, ConfiguredGateway, ProcessScope } from './gateway/route-stages.ts';
import { OpenCapabilities } from './open-capabilities.ts';
import { createCertificateOf } from '../core/gateway/listen/certificates.ts';
import type { createServerAnswers } from './gateway/server-answers.ts';
import type { createMcp } from '../mcp/mcp-route.ts';
import type { AuthorizationServer } from '../core/model/authorization-server.ts';
import type { AuthorizationServerClient, ServerState } from '../ports/authorization-server-client.ts';
import type { PersonPage } from '../capabilities/capability.ts';
import { answer } from '../core/gateway/respond/answer.ts';
import type { Call } from '../core/model/call.ts';
import type { Config } from '../ports/config.ts';
import { leadOwnRequests, OWN_REQUESTS_LED } from '../ports/own-requests.ts';
import { Denial } from '../core/model/denial.ts';
import { FRONT_DOOR } from '../ports/front-door.ts';
import type { StoreState } from '../ports/shared.ts';
import type { RateLimiters } from '../core/model/rate-limiter.ts';
import type { Meters } from '../core/telemetry/metrics.ts';
import { createShared } from './shared.ts';

/** The dependencies of a process, which tests replace. */
export interface Surroundings extends Pick<ProcessScope, 'log' | 'events' | 'clock'> {
  /** The key that binds sessions if the configuration has none; default: random. */
  readonly key?: Buffer | undefined;
  /** Undefined: traces are not configured. */
  readonly tracing?: Tracing | undefined;
  /** Default: none besides the one of clients. */
  readonly listeners?: readonly OwnListener[];
  /** The metrics of capabilities. */
  readonly meters: Meters;
  /** Tells the other processes news of a capability; undefined: there are none. */
  readonly share?: ((capability: string, news: unknown) => void) | undefined;
  /** Undefined: the process started without `revocation`. */
  readonly revocation?: KeptRevocations | undefined;
}

/** The gateway of the newest configuration, and the state that outlives a configuration. */
export interface ReloadableGateway {
  readonly current: ConfiguredGateway;
  /** The current state of each authorization server. */
  readonly servers: () => readonly ServerState[];
  /** The current state of the shared store; undefined: none is configured. */
  readonly sharedStore: () => StoreState | undefined;
  readonly capabilities: Pick<OpenCapabilities, 'adopt' | 'answers' | 'news' | 'state'>;
  /** Builds the whole gateway of `config`, then replaces the current one. Changes nothing if the build fails. */
  readonly use: (config: Config) => Promise<void>;
  /** Ends tokens of the front door, by their SHA-256 (base64url), and their open streams. */
  readonly endTokens: (digests: readonly string[]) => void;
  /** Ends all open streams and WebSockets. */
  readonly endStreams: () => void;
  close(): Promise<void>;
}

/**
 * Builds a gateway that can be reloaded. Authorization servers are discovered in the background: an unavailable one
 * delays only the requests that need it.
 */
export async function createReloadableGateway(config: Config, surroundings: Surroundings): Promise<ReloadableGateway> {
  const { log, events, clock, tracing } = surroundings;
  const shared = createShared(events, (...event) => log.event(...event), clock, {
    subscription: loadOnce(async () => {
      const { frontDoorRevocations } = await import('./front-door-revocations.ts');
      return frontDoorRevocations({ onRevoked: endTokens, streams: streamsOfFrontDoor });
    }),
  });
  const open = new StreamIndex(tokenKey, clock);
  const capabilities = new OpenCapabilities({
    clock,
    events,
    log: (...event) => log.event(...event),
    answers: shared.answers,
    replays: shared.replay,
    store: shared.store,
    showPage,
    meters: surroundings.meters,
    share: surroundings.share ?? (() => {}),
  });
  const processScope: ProcessScope = {
    ...surroundings,
    revocation: surroundings.revocation,
    listeners: surroundings.listeners ?? [],
    certificateOf: createCertificateOf(config.tls?.clientCa),
    connections: new ConnectionPools(),
    underWay: new UnderWay(),
    authenticators: createAuthenticators(events.tokenLookup, clock, shared.answers, (refused) => {
      for (const stream of open.refuse(refused)) endFor(stream, refused.reason, 'the token was refused');
    }),
    streams: {
      add(stream) {
        open.add(stream);
        // The decision came before the stream opened: since then the configuration may have changed, or the token may
        // have been refused.
        queueMicrotask(() => endIfRefused(stream));
      },
      delete: (stream) => open.delete(stream),
    },
    newest: () => gateway,
    requireRight(scope, route, right) {
      const refused = open.refusalOf(right);
      if (refused !== undefined) throw new Denial(refused, 'the token was refused since the call began');
      if (scope !== inForce) gateway.reconsider({ ...right, route, isUpgrade: false, isSent: true });
    },
  };
  surroundings.revocation?.affect({
    open: () => open.all(),
    end: (stream) => endFor(stream, 'token.revoked', 'the token was revoked'),
    drop(isMeant) {
      processScope.authenticators.drop(isMeant);
      capabilities.drop(isMeant);
    },
  });
  const randomKey = surroundings.key ?? randomBytes(32);
  let clients: Clients = new Map();
  let room: { readonly bytes: number; readonly quota: Quota } | undefined;
  let gateway: ConfiguredGateway;
  let inForce: ConfigScope;
  /** Undefined until a configuration has an MCP route. */
  let mcp: ReturnType<typeof createMcp> | undefined;
  /** Undefined until a configuration has a front door or `oauth_endpoints_at_root`. */
  let serverAnswers: typeof createServerAnswers | undefined;
  await use(config);

  async function use(next: Config): Promise<void> {
    if (next.routes.some(({ protocol }) => protocol === 'mcp')) {
      mcp ??= (await import('../mcp/mcp-route.ts')).createMcp(clock, randomUUID);
    }
    if ((next.frontDoor ?? next.endpointsAtRoot) !== undefined) {
      serverAnswers ??= (await import('./gateway/server-answers.ts')).createServerAnswers;
    }
    await processScope.authenticators.prepare(next.authorizationServers.values());
    await capabilities.prepare(next);
    const egress = await openEgress(next, process.env);
    const before = clients;
    const prepared = await shared.prepare(next.shared, next.sessionKey, next.frontDoor !== undefined);
    const ledBefore = leadOwnRequests(egress);
    const served = clientsOf(next);
    let configScope: ConfigScope;
    try {
      configScope = configScopeOf(next, served, prepared.limiters);
      const built = createGateway(next, configScope, processScope);
      gateway = tracing === undefined ? built : traced(built, tracing, next, processScope.listeners);
    } catch (error) {
      leadOwnRequests(ledBefore);
      prepared.drop();
      closeUnlessIn(before, served);
      throw error;
    }
    inForce = configScope;
    prepared.use();
    for (const each of configScope.capabilities) each.start?.(next.routes);
    ({ clients } = configScope);
    closeUnlessIn(clients, before);
    log.configure(next.log);
    events.configLoaded(next.hash);
    for (const stream of open.all()) endIfRefused(stream);
    for (const warning of next.warnings) log.event('warn', warning);
    if (egress !== undefined) log.event('info', OWN_REQUESTS_LED, egress.proxies);
    if (surroundings.revocation === undefined && revocations?.settingsOf(next) !== undefined)
      log.event('warn', 'revocation was added: a restart is needed for it, the rest is in force');
  }

  function configScopeOf(next: Config, served: Clients, limiters: RateLimiters): ConfigScope {
    const secret = next.sessionKey ?? randomKey;
    return {
      clients: served,
      limiters,
      room: roomOf(next),
      capabilities: capabilities.open({ config: next, clients: served, secret }),
      openMcp: mcp?.(secret),
      serverAnswers,
    };
  }

  function roomOf({ limits }: Config): Quota {
    const bytes = bodyQuotaBytes(limits.requestBodyBytes);
    if (bytes !== room?.bytes) room = { bytes, quota: createQuota(bytes) };
    return room.quota;
  }

  function endIfRefused(stream: OpenStream): void {
    const refused = open.refusalOf(stream);
    if (refused !== undefined) return endFor(stream, refused, 'the token was refused');
    try {
      stream.revalidateEvery(gateway.reconsider(stream));
    } catch (error) {
      endFor(stream, error instanceof Denial ? error.reason : 'gateway.error', 'the configuration changed');
    }
  }

  function endTokens(digests: readonly string[]): void {
    for (const digest of digests) processScope.authenticators.revoke(FRONT_DOOR, digest);
  }

  function streamsOfFrontDoor(): readonly OpenStream[] {
    const issuer = clients.get(FRONT_DOOR)?.server.issuer;
    return [...open.all()].filter(({ grant }) => grant.principal !== undefined && grant.principal.issuer === issuer);
  }

  function endFor(stream: OpenStream, reason: string, why: string): void {
    log.event('info', 'stream ended', { request_id: stream.call.id, route: stream.route.name, reason });
    stream.end(why);
  }

  /** Keeps the client of a server whose settings are unchanged, with its metadata, keys and cached answers. */
  function clientsOf({ authorizationServers }: Config): ReadonlyMap<string, AuthorizationServerClient> {
    return new Map([...authorizationServers].map(([name, server]) => [name, known(server) ?? created(server)]));
  }

  function known(server: AuthorizationServer): AuthorizationServerClient | undefined {
    const client = clients.get(server.name);
    return client !== undefined && isDeepStrictEqual(client.server, server) ? client : undefined;
  }

  function created(server: AuthorizationServer): AuthorizationServerClient {
    const client = createServerClient(server, events.serverCall, clock, { report: (...event) => log.event(...event) });
    return tracing?.client(client) ?? client;
  }

  return {
    get current() {
      return gateway;
    },
    sharedStore: shared.state,
    capabilities,
    servers: () =>
      Array.from(clients, ([name, client]) => ({ ...client.state(), keys: processScope.authenticators.keySet(name) })),
    use,
    endTokens,
    endStreams() {
      for (const stream of open.all()) stream.end('the gateway stops');
    },
    async close() {
      for (const client of clients.values()) client.close();
      await Promise.all([capabilities.close(), processScope.connections.close(), shared.close()]);
    },
  };
}

/** Lets the calls of a gateway take part in traces, whichever listener they arrive at. */
function traced(
  gateway: ConfiguredGateway,
  tracing: Tracing,
  config: Config,
  listeners: readonly OwnListener[],
): ConfiguredGateway {
  const { publicUrl, trustedProxies } = config;
  return {
    ...gateway,
    ...tracing.gateway(gateway, { publicUrl, trusted: trustedProxies, forwards: true }),
    listeners: gateway.listeners.map((each, index) => {
      const trusted = [...trustedProxies, ...(listeners[index]?.trusted(config) ?? [])];
      return tracing.gateway(each, { publicUrl, trusted, forwards: false });
    }),
  };
}

async function showPage(call: Call, page: PersonPage): Promise<void> {
  const { document, pageHeaders, plainPage } = await import('../front-door/page.ts');
  const shown = plainPage(page);
  answer(call, 200, pageHeaders(shown), document(shown));
}

type Clients = ConfigScope['clients'];

function closeUnlessIn(kept: Clients, clients: Clients): void {
  for (const [name, client] of clients) if (kept.get(name) !== client) client.close();
}
