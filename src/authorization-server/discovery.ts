import { createBackOff, type Random } from '../lib/back-off.ts';
import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServer, ServerAnswer, ServerMetadata } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';

/** The metadata of one authorization server: kept, renewed, and asked for again by itself while the server is away. */
export interface Discovery {
  /** @throws {Denial} `authorization_server.unavailable` while there is none, or none that is young enough. */
  readonly metadata: () => Promise<ServerMetadata>;
  /** Whether there is metadata to go by. */
  isKnown(): boolean;
  /** Why the last attempt failed; undefined where it did not, or where there was none. */
  problem(): string | undefined;
  /** Asks now, or in a moment if that was just done. The first time begins the renewing. */
  check(): void;
  /** Ends the renewing. */
  close(): void;
}

/** What discovery needs of its client. */
export interface DiscoveryParts {
  readonly get: (url: string) => Promise<ServerAnswer>;
  /** An attempt succeeded after one that did not. */
  readonly recovered: () => void;
  /** An attempt is over, whatever came of it. */
  readonly attempted: () => void;
}

const RENEW_MS = 5 * 60_000;
const RETRY_FIRST_MS = 500;
const RETRY_LAST_MS = 15_000;

/**
 * Creates the discovery of `server`, RFC 8414. Metadata that is wrong, such as that of another issuer, counts as none and
 * never takes the place of what was good. What is good is used for `server.staleMs` without being renewed, no longer.
 */
export function createDiscovery(
  server: AuthorizationServer,
  { get, recovered, attempted }: DiscoveryParts,
  clock: Clock,
  random: Random,
): Discovery {
  let known: ServerMetadata | undefined;
  let fetchedAt = -Infinity;
  let triedAt = -Infinity;
  let failure: Denial | undefined;
  const backOff = createBackOff(RETRY_FIRST_MS, RETRY_LAST_MS);
  let inFlight: Promise<ServerMetadata> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function renew(): Promise<ServerMetadata> {
    triedAt = clock();
    const wasUnavailable = failure !== undefined;
    try {
      known = await discover(server, get);
      fetchedAt = clock();
      failure = undefined;
      backOff.reset();
      // Replicas that were started together need not ask together for ever.
      schedule(RENEW_MS * (1 - random() / 5));
      return known;
    } catch (error) {
      failure = error instanceof Denial ? error : unusable(server, String(error));
      const { retryAfterSeconds } = failure;
      schedule(Math.max((retryAfterSeconds ?? 0) * 1000, backOff.next()));
      throw failure;
    } finally {
      inFlight = undefined;
      if (wasUnavailable && failure === undefined) recovered();
      attempted();
    }
  }

  function attempt(): Promise<ServerMetadata> {
    inFlight ??= renew();
    return inFlight;
  }

  function schedule(delayMs: number): void {
    if (closed) return;
    clearTimeout(timer);
    timer = setTimeout(() => void attempt().catch(() => {}), delayMs).unref();
  }

  function isKnown(): boolean {
    return known !== undefined && clock() - fetchedAt <= Math.max(server.staleMs, RENEW_MS);
  }

  return {
    metadata() {
      if (known !== undefined && isKnown()) return Promise.resolve(known);
      // While it is away one caller waits for each attempt; the others know already what comes of it.
      if (failure !== undefined && (inFlight !== undefined || clock() - triedAt < RETRY_FIRST_MS)) {
        return Promise.reject(failure);
      }
      return attempt();
    },
    isKnown,
    problem: () => failure?.detail,
    check() {
      if (failure !== undefined || inFlight !== undefined) return;
      const sinceMs = clock() - triedAt;
      if (sinceMs < RETRY_FIRST_MS) schedule(RETRY_FIRST_MS - sinceMs);
      else attempt().catch(() => {});
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/**
 * Where the metadata of an issuer may be: RFC 8414 §3.1 (inserted before the path), OpenID Connect Discovery §4
 * (appended), and appended for RFC 8414 too, R-58.
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

async function discover(server: AuthorizationServer, get: DiscoveryParts['get']): Promise<ServerMetadata> {
  for (const location of locations(server.backchannel)) {
    const { status, body } = await get(location);
    // A page for whatever is not there, with a status of 200, is not metadata either.
    if (status === 200 && typeof body === 'object' && body !== null) return read(body, server, location);
  }
  throw unusable(server, `no metadata at ${locations(server.backchannel).join(' or ')}`);
}

function read(body: object, server: AuthorizationServer, location: string): ServerMetadata {
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
