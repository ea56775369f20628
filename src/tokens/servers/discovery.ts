import { createBackOff, type Random } from '../../core/lib/back-off.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import { isAtOrBelow } from '../../core/lib/http/path-flaw.ts';
import type { AuthorizationServer } from '../../core/model/authorization-server.ts';
import type { ServerAnswer, ServerMetadata } from '../../ports/authorization-server-client.ts';
import { Denial } from '../../core/model/denial.ts';

/** The metadata of one authorization server: cached, refreshed, and retried in the background after a failure. */
export interface Discovery {
  /** @throws {Denial} `authorization_server.unavailable` while there are none, or only stale ones. */
  readonly metadata: () => Promise<ServerMetadata>;
  /** Whether usable metadata are cached. */
  isKnown(): boolean;
  /** Why the last attempt failed; undefined if it succeeded or there was none. */
  problem(): string | undefined;
  /** Fetches now, or shortly if the last attempt was just now. The first call starts the refresh. */
  check(): void;
  /** Stops the refresh. */
  close(): void;
}

/** The parts of discovery that its client gives. */
export interface DiscoveryParts {
  readonly get: (url: string) => Promise<ServerAnswer>;
  /** An attempt succeeded after a failure. */
  readonly recovered: () => void;
  /** An attempt ended, with or without success. */
  readonly attempted: () => void;
}

const RENEW_MS = 5 * 60_000;
const RETRY_FIRST_MS = 500;
const RETRY_LAST_MS = 15_000;

/**
 * Creates the discovery of `server`, RFC 8414. Invalid metadata, such as those of another issuer, never replace valid
 * ones. Valid metadata stay usable for `server.staleMs` without a refresh.
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
      // Spreads replicas that started together.
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
      // While the server is unavailable, one caller waits for each attempt. The others get the last failure at once.
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
 * The locations of an issuer's metadata: RFC 8414 §3.1 (inserted before the path), OpenID Connect Discovery §4
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

/**
 * Reads what the first location has that can be read. A location that fails costs only itself: a proxy may answer 5xx
 * for a path that the server does not have.
 *
 * @param read Undefined: the location has nothing. May throw a failure.
 * @returns what was read, or else the failures in the order of the locations.
 */
export async function firstReadable<Value, Failure extends Error>(
  candidates: readonly string[],
  read: (location: string) => Promise<Value | undefined>,
  isFailure: (error: unknown) => error is Failure,
): Promise<{ readonly value: Value } | { readonly failures: readonly Failure[] }> {
  const failures: Failure[] = [];
  for (const location of candidates) {
    try {
      const value = await read(location);
      if (value !== undefined) return { value };
    } catch (error) {
      if (!isFailure(error)) throw error;
      failures.push(error);
    }
  }
  return { failures };
}

/**
 * Reads the metadata at the first location that has those of this issuer.
 *
 * @throws {Denial} `authorization_server.unavailable` if no location has them.
 */
async function discover(server: AuthorizationServer, get: DiscoveryParts['get']): Promise<ServerMetadata> {
  const candidates = locations(server.backchannel);
  const readAt = async (location: string): Promise<ServerMetadata | undefined> => {
    const { status, body } = await get(location);
    // Some servers answer 200 with a page for every unknown path.
    return status === 200 && typeof body === 'object' && body !== null ? read(body, server, location) : undefined;
  };
  const search = await firstReadable(candidates, readAt, (error) => error instanceof Denial);
  if ('value' in search) return search.value;
  throw worst(search.failures) ?? unusable(server, `no metadata at ${candidates.join(' or ')}`);
}

/** The failure that helps an operator most, with the longest pause that any location requests. */
function worst(failures: readonly Denial[]): Denial | undefined {
  const told = failures.find(({ cause }) => cause instanceof OtherIssuer) ?? failures[0];
  if (told === undefined) return undefined;
  const { refusal, detail, cause } = told;
  const retryAfterSeconds = Math.max(...failures.map((failure) => failure.retryAfterSeconds ?? 0));
  return new Denial(refusal, detail, { cause, ...(retryAfterSeconds > 0 && { retryAfterSeconds }) });
}

function read(body: object, server: AuthorizationServer, location: string): ServerMetadata {
  const metadata = body as Record<string, unknown>;
  // RFC 8414 §3.3: MUST be identical. Otherwise another server could answer for this issuer.
  if (metadata['issuer'] !== server.issuer) {
    const found = describeValue(metadata['issuer']);
    const why = `${location} names the issuer ${found}, not ${JSON.stringify(server.issuer)}`;
    throw unusable(server, why, new OtherIssuer(metadata['issuer']));
  }
  const endpoint = (name: string): string | undefined => {
    const value = metadata[name];
    return typeof value === 'string' && URL.canParse(value) ? reachable(value, server) : undefined;
  };
  return {
    jwksUri: endpoint('jwks_uri'),
    introspectionEndpoint: endpoint('introspection_endpoint'),
    tokenEndpoint: endpoint('token_endpoint'),
    document: metadata,
  };
}

/** The cause of a failure: the metadata name another issuer. */
export class OtherIssuer extends Error {
  override readonly name = 'OtherIssuer';
  readonly issuer: unknown;

  constructor(issuer: unknown) {
    super('the metadata name another issuer');
    this.issuer = issuer;
  }
}

function unusable(server: AuthorizationServer, why: string, cause?: OtherIssuer): Denial {
  return new Denial('authorization_server.unavailable', `${server.name}: ${why}`, { cause });
}

/**
 * The URL where the gateway reaches an endpoint: below the issuer through the backchannel, elsewhere (a CDN)
 * unchanged.
 */
export function reachable(endpoint: string, server: Pick<AuthorizationServer, 'issuer' | 'backchannel'>): string {
  const issuer = new URL(server.issuer);
  const url = new URL(endpoint);
  if (url.origin !== issuer.origin) return endpoint;
  const from = issuer.pathname.replace(/\/$/, '');
  const to = server.backchannel.replace(/\/$/, '');
  if (!isAtOrBelow(url.pathname, from)) return endpoint;
  return `${to}${url.pathname.slice(from.length)}${url.search}`;
}
