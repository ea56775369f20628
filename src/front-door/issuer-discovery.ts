import * as openid from 'openid-client';
import { createRemoteJWKSet, customFetch, errors } from 'jose';
import { readJwkSet } from '../tokens/servers/jwk-set.ts';
import { reachable } from '../tokens/servers/discovery.ts';
import type { Clock } from '../core/lib/clock.ts';
import { boundedAnswer } from '../core/lib/http/bodies.ts';
import { isObject } from '../core/lib/json/own-member.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import { loadHourly } from '../core/lib/single-flight.ts';
import type { AssertionIssuer, TrustedIssuer } from '../core/model/front-door.ts';

type Reached = Pick<TrustedIssuer, 'issuer' | 'backchannel'>;

interface DiscoveringClient {
  readonly metadata: openid.ClientMetadata;
  readonly auth: openid.ClientAuth;
  /** How long one call may take. */
  readonly timeoutSeconds: number;
}

/** The longest answer of an issuer: metadata, keys, tokens or claims of a person. */
const MAX_BYTES = 512 * 1024;

/**
 * The `fetch` of endpoints of an issuer, which bounds each answer. It follows no redirect, which could lead to another
 * party's keys. The caller's `signal` bounds the time, until the last byte.
 */
export function createIssuerFetch(from: Reached): (url: string, options: object) => Promise<Response> {
  return async (url, options) => {
    const answer = await boundedAnswer(await fetch(reachable(url, from), { ...options, redirect: 'error' }), MAX_BYTES);
    return isJson(answer) ? withoutNullMembers(answer) : answer;
  };
}

function isJson({ headers }: Response): boolean {
  return /^application\/([^;]+\+)?json\b/i.test(headers.get('content-type') ?? '');
}

/** The answer without members that are null: many servers write null for a member that an answer does not have. */
async function withoutNullMembers(answer: Response): Promise<Response> {
  const { status, headers } = answer;
  const text = await answer.text();
  const body = parsedJson(text);
  if (!isObject(body)) return new Response(text === '' ? null : text, { status, headers });
  const members = Object.entries(body).filter(([, value]) => value !== null);
  return Response.json(Object.fromEntries(members), { status, headers });
}

/** Discovers an issuer. @throws if its metadata name another one. */
export async function discoverIssuer(
  from: Reached,
  { metadata, auth, timeoutSeconds }: DiscoveringClient,
): Promise<openid.Configuration> {
  const { issuer, backchannel } = from;
  const isPlain = [issuer, backchannel].some((url) => url.startsWith('http:'));
  const configuration = await openid.discovery(new URL(issuer), metadata.client_id, metadata, auth, {
    timeout: timeoutSeconds,
    [openid.customFetch]: createIssuerFetch(from),
    // The operator wrote http, of which `check` warns off loopback.
    execute: isPlain ? [openid.allowInsecureRequests] : [],
  });
  // openid-client compares the parsed URL. A trailing slash makes another issuer.
  if (configuration.serverMetadata().issuer !== issuer) throw new Error('the metadata name another issuer');
  return configuration;
}

const TIMEOUT_SECONDS = 5;
/** An unknown `kid`, or a signature by another key, fetches the keys again, at most once in this time. */
const KEYS_COOL_DOWN_MS = 5_000;

/** The keys of an issuer: fetched at first use, kept for a few minutes, and fetched again for an unknown `kid`. */
export type RemoteKeys = ReturnType<typeof createRemoteJWKSet>;

/** Creates the keys at `jwksUri`. A member that is no key, and a key with a flaw, cost only themselves. */
export function createKeysAt(jwksUri: string, from: Reached): RemoteKeys {
  const fetchAnswer = createIssuerFetch(from);
  return createRemoteJWKSet(new URL(jwksUri), {
    timeoutDuration: TIMEOUT_SECONDS * 1000,
    cooldownDuration: KEYS_COOL_DOWN_MS,
    [customFetch]: async (url, options) => {
      const answer = await fetchAnswer(url, options);
      if (answer.status !== 200) return answer;
      return Response.json({ keys: readJwkSet(await answer.json())?.keys });
    },
  });
}

/**
 * Verifies by `keys`. An issuer may have replaced a key under the same `kid`: after a signature that fails, they are
 * fetched again, if that is due.
 *
 * @throws the errors of jose.
 */
export async function verifiedBy<Verified>(keys: RemoteKeys, verify: () => Promise<Verified>): Promise<Verified> {
  try {
    return await verify();
  } catch (error) {
    if (!(error instanceof errors.JWSSignatureVerificationFailed) || keys.coolingDown) throw error;
    await keys.reload();
    return await verify();
  }
}

/** Creates the key source of `settings`. It discovers the issuer at the first assertion, and again each hour. */
export function createAssertionKeys(settings: AssertionIssuer, clock: Clock): () => Promise<RemoteKeys> {
  return loadHourly(() => discoverKeys(settings), clock);
}

/** Discovers an issuer. @throws if its metadata name another one, or no keys. */
export async function discoverKeys(settings: AssertionIssuer): Promise<RemoteKeys> {
  const client = { metadata: { client_id: 'front-door' }, auth: openid.None(), timeoutSeconds: TIMEOUT_SECONDS };
  const { jwks_uri: jwksUri } = (await discoverIssuer(settings, client)).serverMetadata();
  if (jwksUri === undefined) throw new Error('the metadata have no jwks_uri');
  return createKeysAt(jwksUri, settings);
}
