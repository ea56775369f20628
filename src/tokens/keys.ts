import type { CryptoKey, JWTVerifyGetKey } from 'jose';
import * as errors from 'jose/errors';
import { createLocalJWKSet, type LocalJWKSet } from 'jose/jwks/local';
import type { Random } from '../core/lib/back-off.ts';
import type { Clock } from '../core/lib/clock.ts';
import { withoutQuery } from '../core/lib/wording.ts';
import { type FlawedKey, readJwkSet } from './servers/jwk-set.ts';
import type { AuthorizationServerClient, KeySetState } from '../ports/authorization-server-client.ts';
import { Denial } from '../core/model/denial.ts';
import { describeValue } from '../core/lib/json/describe-value.ts';

/** An unknown `kid`, or a signature by another key, fetches the key set again, at most once in this time. */
const REFRESH_WINDOW_MS = 5_000;
/** After a failed fetch, further callers get its error for this long. */
const COOL_DOWN_MS = 500;
/** How long keys are fresh without a `max-age`, and the limits for a `max-age`. */
const FRESH_MS = 5 * 60_000;
const LEAST_FRESH_MS = 60_000;
const MOST_FRESH_MS = 60 * 60_000;

/**
 * The signing keys of an authorization server, RFC 7517: fetched at first use, refreshed in the background before
 * they are stale, and fetched again for an unknown `kid`. While the server is unavailable they stay usable for
 * `server.staleMs` after the last fetch. Only keys published for signatures and for the token's `alg` are found.
 *
 * A readable key set replaces the old one, even if it is empty: that is how a server withdraws its only key. An
 * unreadable one counts as an outage.
 *
 * `createRemoteJWKSet` of jose 6.2.17 replaces none of it: once its keys are older than `cacheMaxAge`, a token waits
 * for a fetch and fails with it. It does not say which keys were withdrawn, which must end cached tokens.
 */
export class KeySource {
  readonly #client: AuthorizationServerClient;
  readonly #clock: Clock;
  readonly #random: Random;
  #keys: LocalJWKSet | undefined;
  #flawed: readonly FlawedKey[] = [];
  #generation = 0;
  #fetchedAt = -Infinity;
  #newestAt = 0;
  #freshMs = 0;
  #refreshAfterMs = 0;
  #triedAt = -Infinity;
  #failure: unknown;
  #inFlight: Promise<LocalJWKSet> | undefined;

  constructor(client: AuthorizationServerClient, clock: Clock, random: Random = Math.random) {
    this.#client = client;
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Finds the key that the header of a token names, for jose.
   *
   * @throws {Denial} `token.key` for a key that the server does not publish, and `authorization_server.unavailable` if
   *   that cannot be determined now.
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const keySet = await this.#current();
    try {
      return await keyIn(keySet, header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const newer = this.#isRecent() ? keySet : await this.#refresh();
      // Shortly after a failed fetch it is unknown whether the key is new or made up.
      if (this.#failure !== undefined) throw this.#failure;
      return await keyIn(newer, header, token).catch((again: unknown) => {
        if (!(again instanceof errors.JWKSNoMatchingKey)) throw again;
        const flawed = this.#flawed.find(({ kid }) => kid === header.kid);
        const detail =
          flawed === undefined
            ? `no published key for ${named(header)}`
            : `the published key for ${named(header)} ${flawed.flaw}`;
        throw new Denial('token.key', detail, { cause: again });
      });
    }
  };

  /**
   * Fetches the keys again for a signature that no key verifies: a server may publish a new key under an old `kid`.
   * The bounds are those of an unknown `kid`.
   *
   * @param since When the verification began (ms since the epoch).
   * @returns whether the keys were fetched since then.
   */
  async renew(since: number): Promise<boolean> {
    if (this.#fetchedAt < since && !this.#isRecent()) await this.#refresh().catch(() => {});
    return this.#fetchedAt >= since;
  }

  /** The number of times that a key was withdrawn. Tokens verified under an earlier generation are verified again. */
  get generation(): number {
    return this.#generation;
  }

  /**
   * Whether tokens verified under `generation` are still valid without a new check: no key was withdrawn since, and the
   * keys are fresh or usable. It refreshes aging keys in the background.
   */
  holds(generation: number): boolean {
    const ageMs = this.#clock() - this.#fetchedAt;
    if (generation !== this.#generation || !this.#isUsable(ageMs) || this.#isStale(ageMs)) return false;
    this.#refreshInBackground(ageMs);
    return true;
  }

  /** What an operator may see of the keys; undefined: none were fetched yet. */
  state(): KeySetState | undefined {
    return (
      this.#keys && {
        count: this.#keys.jwks().keys.length,
        fetched: new Date(this.#fetchedAt).toISOString(),
        newest: new Date(this.#newestAt).toISOString(),
      }
    );
  }

  async #current(): Promise<LocalJWKSet> {
    const ageMs = this.#clock() - this.#fetchedAt;
    const keySet = this.#keys;
    if (keySet === undefined || !this.#isUsable(ageMs)) {
      // While the server is unavailable, one caller waits for each attempt. The others get the last error at once.
      if (this.#failure !== undefined && this.#inFlight !== undefined) throw this.#failure;
      return this.#refresh();
    }
    if (this.#isStale(ageMs)) return this.#refresh().catch(() => keySet);
    this.#refreshInBackground(ageMs);
    return keySet;
  }

  #isRecent(): boolean {
    return this.#clock() - this.#triedAt < REFRESH_WINDOW_MS && this.#inFlight === undefined;
  }

  #isUsable(ageMs: number): boolean {
    return ageMs <= Math.max(this.#client.server.staleMs, this.#freshMs);
  }

  /** Whether a refresh has to come first. After a failed refresh, stale keys are used while they are usable. */
  #isStale(ageMs: number): boolean {
    return ageMs > this.#freshMs && this.#failure === undefined;
  }

  #refreshInBackground(ageMs: number): void {
    if (ageMs > this.#refreshAfterMs && this.#clock() - this.#triedAt > REFRESH_WINDOW_MS) {
      this.#refresh().catch(() => {});
    }
  }

  #refresh(): Promise<LocalJWKSet> {
    if (this.#inFlight !== undefined) return this.#inFlight;
    if (this.#failure !== undefined && this.#clock() - this.#triedAt < COOL_DOWN_MS) {
      return Promise.reject(this.#failure);
    }
    this.#inFlight = this.#fetch();
    return this.#inFlight;
  }

  async #fetch(): Promise<LocalJWKSet> {
    this.#triedAt = this.#clock();
    try {
      const { set, flawed, maxAgeMs = FRESH_MS } = await publishedKeys(this.#client);
      this.#fetchedAt = this.#clock();
      if (this.#keys === undefined || hasOther(set, this.#keys)) this.#newestAt = this.#fetchedAt;
      // A key is missing now, or has changed under the same name.
      if (this.#keys !== undefined && hasOther(this.#keys, set)) this.#generation += 1;
      this.#keys = set;
      this.#flawed = flawed;
      this.#freshMs = Math.min(Math.max(maxAgeMs, LEAST_FRESH_MS), MOST_FRESH_MS);
      this.#refreshAfterMs = this.#freshMs * (1 - this.#random() / 5);
      this.#failure = undefined;
      return set;
    } catch (error) {
      this.#failure = error;
      throw error;
    } finally {
      this.#inFlight = undefined;
    }
  }
}

/**
 * The key in `set` that the header of a token names.
 *
 * @throws {Denial} `token.key` for a published key that is malformed.
 * @throws the errors of jose if no key fits, or several do.
 */
async function keyIn(set: LocalJWKSet, ...[header, token]: Parameters<JWTVerifyGetKey>): Promise<CryptoKey> {
  return await set(header, token).catch((cause: unknown) => {
    if (cause instanceof errors.JOSEError) throw cause;
    throw new Denial('token.key', `the published key for ${named(header)} is malformed`, { cause });
  });
}

function named({ kid, alg }: Parameters<JWTVerifyGetKey>[0]): string {
  return `kid ${describeValue(kid)} and alg ${describeValue(alg)}`;
}

function hasOther(set: LocalJWKSet, other: LocalJWKSet): boolean {
  const known = new Set(other.jwks().keys.map(canonicalJson));
  return set.jwks().keys.some((key) => !known.has(canonicalJson(key)));
}

/** A text that does not depend on the order of the members. */
function canonicalJson(key: object): string {
  return JSON.stringify(Object.entries(key).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/**
 * Whether a key of a set is for `issuer`. Entra ID publishes the keys of many tenants in one set, each with the
 * `issuer` whose tokens it signs; `{tenantid}` stands for any tenant.
 * https://learn.microsoft.com/entra/identity-platform/access-tokens#validate-the-issuer
 */
function isOwn({ issuer: of }: Readonly<Record<string, unknown>>, issuer: string): boolean {
  return typeof of !== 'string' || of === issuer || of.includes('{tenantid}');
}

/**
 * Fetches the keys that the server publishes for itself.
 *
 * @throws {Denial} `authorization_server.unavailable` without a readable key set.
 */
export async function publishedKeys(client: AuthorizationServerClient): Promise<{
  readonly set: LocalJWKSet;
  /** The keys that are left out of `set`. */
  readonly flawed: readonly FlawedKey[];
  readonly maxAgeMs: number | undefined;
}> {
  const { keySet } = client.server.jwt ?? {};
  const inFile = keySet && readJwkSet(keySet);
  if (inFile !== undefined) {
    const { keys, flawed } = inFile;
    return { set: createLocalJWKSet({ keys: [...keys] }), flawed, maxAgeMs: undefined };
  }
  const location = client.server.jwt?.jwksUri ?? (await client.metadata()).jwksUri;
  const name = client.server.name;
  if (location === undefined) {
    throw new Denial('authorization_server.unavailable', `${name}: its metadata has no jwks_uri; set jwt.jwks`);
  }
  const { status, body, maxAgeMs } = await client.get('jwks', location);
  const published = status === 200 ? readJwkSet(body) : undefined;
  if (published === undefined) {
    const what = `${name}: ${withoutQuery(location)} (${status}) is not a JWK Set`;
    throw new Denial('authorization_server.unavailable', what);
  }
  const keys = published.keys.filter((key) => isOwn(key, client.server.issuer));
  return { set: createLocalJWKSet({ keys }), flawed: published.flawed, maxAgeMs };
}
