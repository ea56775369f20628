import { createLocalJWKSet, errors, type JWTVerifyGetKey, type JSONWebKeySet, type LocalJWKSet } from 'jose';
import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServerClient } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';

/** An unknown `kid` fetches the set again, but at most once in this time, however many are tried. */
const WINDOW_MS = 5_000;
/** Older keys are renewed behind the request that found them so. */
const RENEW_MS = 5 * 60_000;

/** Finds the key that a token names in its header. */
export type KeySource = JWTVerifyGetKey;

/**
 * The signing keys of an authorization server, RFC 7517: fetched when first needed, renewed when old or when a `kid`
 * is unknown, and kept while the server is away. Only keys published for signatures and for the token's `alg` are found.
 *
 * @returns a key source for jose that throws {Denial} `token.key` for a key that the server does not publish, and
 *   `authorization_server.unavailable` where that cannot be known now.
 */
export function createKeySource(client: AuthorizationServerClient, clock: Clock): KeySource {
  let keys: LocalJWKSet | undefined;
  let fetchedAt = -Infinity;
  let triedAt = -Infinity;
  let failure: unknown;
  let underWay: Promise<LocalJWKSet> | undefined;

  async function fetchKeys(): Promise<LocalJWKSet> {
    triedAt = clock();
    try {
      keys = await publishedKeys(client);
      fetchedAt = clock();
      failure = undefined;
      return keys;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      underWay = undefined;
    }
  }

  function renew(): Promise<LocalJWKSet> {
    if (underWay !== undefined) return underWay;
    if (failure !== undefined && clock() - triedAt < WINDOW_MS / 10) return Promise.reject(failure);
    underWay = fetchKeys();
    return underWay;
  }

  return async (header, token) => {
    const current = keys ?? (await renew());
    if (clock() - fetchedAt > RENEW_MS && clock() - triedAt > WINDOW_MS) renew().catch(() => {});
    try {
      return await current(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const newer = clock() - triedAt < WINDOW_MS && underWay === undefined ? current : await renew();
      // Within the window after a failed fetch nobody knows whether the key is new or made up.
      if (newer === current && failure !== undefined) throw failure;
      return await newer(header, token).catch((again: unknown) => {
        if (!(again instanceof errors.JWKSNoMatchingKey)) throw again;
        throw new Denial('token.key', 'no published key for its kid and alg', { cause: again });
      });
    }
  };
}

async function publishedKeys(client: AuthorizationServerClient): Promise<LocalJWKSet> {
  const location = client.server.jwt?.jwksUri ?? (await client.metadata()).jwksUri;
  const name = client.server.name;
  if (location === undefined) {
    throw new Denial('authorization_server.unavailable', `${name}: its metadata has no jwks_uri; set jwt.jwks`);
  }
  const { status, body } = await client.get('jwks', location);
  try {
    return createLocalJWKSet(body as JSONWebKeySet);
  } catch (cause) {
    throw new Denial('authorization_server.unavailable', `${name}: ${location} (${status}) is no JWK Set`, { cause });
  }
}
