import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import * as errors from 'jose/errors';
import { createLocalJWKSet, type LocalJWKSet } from 'jose/jwks/local';
import type { Random } from '../../lib/back-off.ts';
import type { Clock } from '../../lib/clock.ts';
import { withoutQuery } from '../../lib/http/without-query.ts';
import type { AuthorizationServerClient, KeySetState } from '../../model/authorization-server.ts';
import { Denial } from '../../model/denial.ts';
import { describeValue } from '../../lib/json/describe-value.ts';

/** An unknown `kid` fetches the key set again, at most once in this time. */
const refreshWindowMs = 5_000;
/** After a failed fetch, further callers get its error for this long. */
const cooldownMs = 500;
/** How long keys are fresh without a `max-age`, and the limits for a `max-age`. */
const FRESH_MS = 5 * 60_000;
const LEAST_FRESH_MS = 60_000;
const MOST_FRESH_MS = 60 * 60_000;

/** Finds the key that the header of a token names. */
export interface KeySource extends JWTVerifyGetKey {
  /** The number of times that a key was withdrawn. Tokens verified under an earlier generation are verified again. */
  readonly generation: number;
  /**
   * Whether tokens verified under `generation` are still valid without a new check: no key was withdrawn since, and the
   * keys are fresh or usable. It refreshes aging keys in the background.
   */
  holds(generation: number): boolean;
  /** What an operator may see of the keys; undefined: none were fetched yet. */
  state(): KeySetState | undefined;
}

/**
 * The signing keys of an authorization server, RFC 7517: fetched at first use, refreshed in the background before
 * they are stale, and fetched again for an unknown `kid`. While the server is unavailable they stay usable for
 * `server.staleMs` after the last fetch. Only keys published for signatures and for the token's `alg` are found.
 *
 * A readable key set replaces the old one, even if it is empty: that is how a server withdraws its only key. An
 * unreadable one counts as an outage.
 *
 * @returns a key source for jose that throws {Denial} `token.key` for a key that the server does not publish, and
 *   `authorization_server.unavailable` if that cannot be determined now.
 */
export function createKeySource(
  client: AuthorizationServerClient,
  clock: Clock,
  random: Random = Math.random,
): KeySource {
  const { staleMs } = client.server;
  let keys: LocalJWKSet | undefined;
  let generation = 0;
  let fetchedAt = -Infinity;
  let newestAt = 0;
  let freshMs = 0;
  let refreshAfterMs = 0;
  let triedAt = -Infinity;
  let failure: unknown;
  let inFlight: Promise<LocalJWKSet> | undefined;

  async function fetchKeys(): Promise<LocalJWKSet> {
    triedAt = clock();
    try {
      const { set, maxAgeMs = FRESH_MS } = await publishedKeys(client);
      fetchedAt = clock();
      if (keys === undefined || hasOther(set, keys)) newestAt = fetchedAt;
      // A key is missing now, or has changed under the same name.
      if (keys !== undefined && hasOther(keys, set)) generation += 1;
      keys = set;
      freshMs = Math.min(Math.max(maxAgeMs, LEAST_FRESH_MS), MOST_FRESH_MS);
      refreshAfterMs = freshMs * (1 - random() / 5);
      failure = undefined;
      return set;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      inFlight = undefined;
    }
  }

  function refresh(): Promise<LocalJWKSet> {
    if (inFlight !== undefined) return inFlight;
    if (failure !== undefined && clock() - triedAt < cooldownMs) return Promise.reject(failure);
    inFlight = fetchKeys();
    return inFlight;
  }

  function refreshInBackground(ageMs: number): void {
    if (ageMs > refreshAfterMs && clock() - triedAt > refreshWindowMs) refresh().catch(() => {});
  }

  function isUsable(ageMs: number): boolean {
    return ageMs <= Math.max(staleMs, freshMs);
  }

  /** Whether a refresh has to come first. After a failed refresh, stale keys are used while they are usable. */
  function isStale(ageMs: number): boolean {
    return ageMs > freshMs && failure === undefined;
  }

  async function current(): Promise<LocalJWKSet> {
    const ageMs = clock() - fetchedAt;
    if (keys === undefined || !isUsable(ageMs)) {
      // While the server is unavailable, one caller waits for each attempt. The others get the last error at once.
      if (failure !== undefined && inFlight !== undefined) throw failure;
      return refresh();
    }
    if (isStale(ageMs)) return refresh().catch(() => keys ?? refresh());
    refreshInBackground(ageMs);
    return keys;
  }

  const find: JWTVerifyGetKey = async (header, token) => {
    const known = await current();
    try {
      return await known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const newer = clock() - triedAt < refreshWindowMs && inFlight === undefined ? known : await refresh();
      // Shortly after a failed fetch it is unknown whether the key is new or made up.
      if (failure !== undefined) throw failure;
      return await newer(header, token).catch((again: unknown) => {
        if (!(again instanceof errors.JWKSNoMatchingKey)) throw again;
        const wanted = `kid ${describeValue(header.kid)} and alg ${describeValue(header.alg)}`;
        throw new Denial('token.key', `no published key for ${wanted}`, { cause: again });
      });
    }
  };

  return Object.defineProperties(find, {
    generation: { get: () => generation },
    holds: {
      value(of: number) {
        const ageMs = clock() - fetchedAt;
        if (of !== generation || !isUsable(ageMs) || isStale(ageMs)) return false;
        refreshInBackground(ageMs);
        return true;
      },
    },
    state: {
      value: () =>
        keys && {
          count: keys.jwks().keys.length,
          fetched: new Date(fetchedAt).toISOString(),
          newest: new Date(newestAt).toISOString(),
        },
    },
  }) as KeySource;
}

/** Whether a set has a key that is not in the other one. */
function hasOther(set: LocalJWKSet, other: LocalJWKSet): boolean {
  const known = new Set(other.jwks().keys.map(canonicalJson));
  return set.jwks().keys.some((key) => !known.has(canonicalJson(key)));
}

/** A text that does not depend on the order of the members. */
function canonicalJson(key: object): string {
  return JSON.stringify(Object.entries(key).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/**
 * The keys of `issuer` in a set. Entra ID publishes the keys of many tenants in one set, each with the `issuer` whose
 * tokens it signs; `{tenantid}` stands for any tenant.
 * https://learn.microsoft.com/entra/identity-platform/access-tokens#validate-the-issuer
 */
function ownKeys(set: JSONWebKeySet, issuer: string): JSONWebKeySet {
  const isOwn = ({ issuer: of }: Readonly<Record<string, unknown>>): boolean =>
    typeof of !== 'string' || of === issuer || of.includes('{tenantid}');
  return { ...set, keys: set.keys.filter(isOwn) };
}

/**
 * Fetches the keys that the server publishes for itself.
 *
 * @throws {Denial} `authorization_server.unavailable` without a readable key set.
 */
export async function publishedKeys(
  client: AuthorizationServerClient,
): Promise<{ readonly set: LocalJWKSet; readonly maxAgeMs: number | undefined }> {
  const location = client.server.jwt?.jwksUri ?? (await client.metadata()).jwksUri;
  const name = client.server.name;
  if (location === undefined) {
    throw new Denial('authorization_server.unavailable', `${name}: its metadata has no jwks_uri; set jwt.jwks`);
  }
  const { status, body, maxAgeMs } = await client.get('jwks', location);
  try {
    if (status !== 200) throw new Error(`a status of ${status}`);
    return { set: createLocalJWKSet(ownKeys(body as JSONWebKeySet, client.server.issuer)), maxAgeMs };
  } catch (cause) {
    const what = `${name}: ${withoutQuery(location)} (${status}) is not a JWK Set`;
    throw new Denial('authorization_server.unavailable', what, { cause });
  }
}
