import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServer, ServerAnswer, ServerMetadata, ServerState } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';

/** The metadata of one authorization server: fetched at start, kept, renewed, and asked for again while it is away. */
export interface Discovery {
  /** @throws {Denial} `authorization_server.unavailable` while there is none. */
  readonly metadata: () => Promise<ServerMetadata>;
  readonly state: () => ServerState;
  /** Ends the renewing. */
  readonly close: () => void;
}

type Get = (url: string) => Promise<ServerAnswer>;

const RENEW_MS = 5 * 60_000;
const RETRY_FIRST_MS = 500;
const RETRY_LAST_MS = 15_000;

/** Creates the discovery of `server` and begins at once; an unreachable server is no error here. */
export function createDiscovery(server: AuthorizationServer, get: Get, clock: Clock): Discovery {
  let known: ServerMetadata | undefined;
  let problem: string | undefined;
  let retryMs = RETRY_FIRST_MS;
  let lastFailureAt = -Infinity;
  let underWay: Promise<ServerMetadata> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function renew(): Promise<ServerMetadata> {
    try {
      known = await discover(server, get);
      problem = undefined;
      retryMs = RETRY_FIRST_MS;
      schedule(RENEW_MS);
      return known;
    } catch (error) {
      problem = error instanceof Denial ? error.detail : String(error);
      lastFailureAt = clock();
      schedule(retryMs);
      retryMs = Math.min(retryMs * 2, RETRY_LAST_MS);
      throw error;
    } finally {
      underWay = undefined;
    }
  }

  function attempt(): Promise<ServerMetadata> {
    underWay ??= renew();
    return underWay;
  }

  function schedule(delayMs: number): void {
    if (closed) return;
    clearTimeout(timer);
    timer = setTimeout(() => void attempt().catch(() => {}), delayMs).unref();
  }

  attempt().catch(() => {});

  return {
    metadata() {
      if (known !== undefined) return Promise.resolve(known);
      // One attempt answers everybody who comes within the same moment.
      if (underWay === undefined && clock() - lastFailureAt < RETRY_FIRST_MS) {
        return Promise.reject(
          new Denial('authorization_server.unavailable', problem ?? `${server.name}: not discovered`),
        );
      }
      return attempt();
    },
    state() {
      const base = { name: server.name, issuer: server.issuer };
      if (problem === undefined) return { ...base, state: known === undefined ? 'unknown' : 'available' };
      return { ...base, state: known === undefined ? 'unavailable' : 'stale', problem };
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/**
 * Where the metadata of an issuer may be: RFC 8414 §3.1 (inserted before the path), OpenID Connect Discovery §4
 * (appended), and appended for RFC 8414 too, as the authorization specification §3 describes it.
 */
function locations(base: string): readonly string[] {
  const { origin, pathname } = new URL(base);
  const path = pathname.replace(/\/$/, '');
  return [
    ...new Set([
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}${path}/.well-known/openid-configuration`,
      `${origin}${path}/.well-known/oauth-authorization-server`,
    ]),
  ];
}

async function discover(server: AuthorizationServer, get: Get): Promise<ServerMetadata> {
  for (const location of locations(server.backchannel)) {
    const { status, body } = await get(location);
    if (status === 200) return read(body, server, location);
  }
  throw unusable(server, `no metadata at ${locations(server.backchannel).join(' or ')}`);
}

function read(body: unknown, server: AuthorizationServer, location: string): ServerMetadata {
  if (typeof body !== 'object' || body === null) throw unusable(server, `${location} is not a JSON object`);
  const metadata = body as Record<string, unknown>;
  // RFC 8414 §3.3: MUST be identical, or another server could answer for this issuer.
  if (metadata['issuer'] !== server.issuer) {
    const found = JSON.stringify(metadata['issuer']);
    throw unusable(server, `${location} names the issuer ${found}, not ${JSON.stringify(server.issuer)}`);
  }
  const endpoint = (name: string): string | undefined => {
    const value = metadata[name];
    return typeof value === 'string' && URL.canParse(value) ? reachable(value, server) : undefined;
  };
  return {
    jwksUri: endpoint('jwks_uri'),
    introspectionEndpoint: endpoint('introspection_endpoint'),
    tokenEndpoint: endpoint('token_endpoint'),
  };
}

function unusable(server: AuthorizationServer, why: string): Denial {
  return new Denial('authorization_server.unavailable', `${server.name}: ${why}`);
}

/** An endpoint below the issuer is reached by the backchannel; one elsewhere (a CDN for keys) as it is. */
function reachable(endpoint: string, server: AuthorizationServer): string {
  const issuer = new URL(server.issuer);
  const url = new URL(endpoint);
  if (url.origin !== issuer.origin) return endpoint;
  const from = issuer.pathname.replace(/\/$/, '');
  const to = server.backchannel.replace(/\/$/, '');
  if (url.pathname !== from && !url.pathname.startsWith(`${from}/`)) return endpoint;
  return `${to}${url.pathname.slice(from.length)}${url.search}`;
}
