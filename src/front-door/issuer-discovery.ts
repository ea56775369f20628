import * as openid from 'openid-client';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose';
import { errors as oauth } from 'oidc-provider';
import { signatureAlgorithms } from '../tokens/servers/key-algorithms.ts';
import { readJwkSet } from '../tokens/servers/jwk-set.ts';
import { reachable } from '../tokens/servers/discovery.ts';
import type { Clock } from '../core/lib/clock.ts';
import { boundedAnswer } from '../core/lib/http/bodies.ts';
import { ownFetch } from '../tokens/servers/own-fetch.ts';
import { isObject } from '../core/lib/json/own-member.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import { reasonOf } from '../core/lib/wording.ts';
import { Unavailable } from './store.ts';
import { loadHourly } from '../core/lib/single-flight.ts';
import type { AssertionIssuer, TrustedIssuer, Workload } from '../ports/front-door.ts';

/** How an issuer is reached. */
interface Reached extends Pick<TrustedIssuer, 'issuer' | 'backchannel'> {
  /** The authorities in place of those of the system, as PEM. */
  readonly ca?: string | undefined;
  /** A bearer token that it wants. */
  readonly token?: string | undefined;
  /** Keeps calls from it after a failure. */
  readonly outage?: Outage;
}

/** The time after a failure of an issuer, in which it is not asked again. */
class Outage {
  readonly #clock: Clock;
  #failure: { readonly error: unknown; readonly at: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws the failure that is not over. */
  async during<Value>(work: () => Promise<Value>): Promise<Value> {
    const age = this.#clock() - (this.#failure?.at ?? -Infinity);
    // The clock may have been set back.
    if (age >= 0 && age < KEYS_COOL_DOWN_MS) throw this.#failure?.error;
    try {
      return await work();
    } catch (error) {
      this.#failure = { error, at: this.#clock() };
      throw error;
    }
  }
}

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
  const { ca, token, outage } = from;
  const fetched = async (url: string, options: object): Promise<Response> => {
    const request = new Request(reachable(url, from), { ...options, redirect: 'error' });
    if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`);
    const answer = await boundedAnswer(await ownFetch(request, { ca }), MAX_BYTES);
    if (outage !== undefined && answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
    return isJson(answer) ? withoutNullMembers(answer) : answer;
  };
  return outage === undefined ? fetched : (url, options) => outage.during(() => fetched(url, options));
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
  const { issuer } = from;
  const configuration = await openid.discovery(new URL(issuer), metadata.client_id, metadata, auth, {
    timeout: timeoutSeconds,
    [openid.customFetch]: createIssuerFetch(from),
    // The operator wrote http, of which `check` warns off loopback.
    execute: isPlain(from) ? [openid.allowInsecureRequests] : [],
  });
  // openid-client compares the parsed URL. A trailing slash makes another issuer.
  if (configuration.serverMetadata().issuer !== issuer) throw new Error('the metadata name another issuer');
  return configuration;
}

/** Whether the operator chose plain http for an issuer. */
function isPlain({ issuer, backchannel }: Reached): boolean {
  return issuer.startsWith('http:') || backchannel.startsWith('http:');
}

const TIMEOUT_SECONDS = 5;
/** An unknown `kid`, or a signature by another key, fetches the keys again, at most once in this time. */
const KEYS_COOL_DOWN_MS = 5_000;

/** Keys that verify a signature: those of a remote set, or of a file. */
export type AssertionKeys = RemoteKeys | ReturnType<typeof createLocalJWKSet>;

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
export async function verifiedBy<Verified>(keys: AssertionKeys, verify: () => Promise<Verified>): Promise<Verified> {
  try {
    return await verify();
  } catch (error) {
    if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    if (!('reload' in keys) || keys.coolingDown) throw error;
    await keys.reload();
    return await verify();
  }
}

/**
 * Creates the key source of a platform. Any party can present a token of it, so after a failure it is not asked again
 * for a few seconds.
 */
export function createWorkloadKeys(settings: Workload, clock: Clock): () => Promise<AssertionKeys> {
  const { jwks } = settings;
  if (typeof jwks === 'object') {
    const keys = createLocalJWKSet({ keys: readJwkSet(jwks)?.keys ?? [] } as JSONWebKeySet);
    return async () => keys;
  }
  const from = { ...settings, outage: new Outage(clock) };
  return loadHourly(async () => (jwks === undefined ? discoverKeys(from) : createKeysAt(jwks, from)), clock);
}

/** Creates the key source of `settings`. It discovers the issuer at the first assertion, and again each hour. */
export function createAssertionKeys(settings: AssertionIssuer, clock: Clock): () => Promise<RemoteKeys> {
  return loadHourly(() => discoverKeys(settings), clock);
}

/** Discovers an issuer. @throws if its metadata name another one, or no keys. */
export async function discoverKeys(settings: Reached): Promise<RemoteKeys> {
  const client = { metadata: { client_id: 'front-door' }, auth: openid.None(), timeoutSeconds: TIMEOUT_SECONDS };
  const { jwks_uri: jwksUri } = (await discoverIssuer(settings, client)).serverMetadata();
  if (jwksUri === undefined) throw new Error('the metadata have no jwks_uri');
  // A party on the way could replace the keys, and read `token`.
  if (!isPlain(settings) && !jwksUri.startsWith('https:')) throw new Error(`jwks_uri is not https: ${jwksUri}`);
  return createKeysAt(jwksUri, settings);
}

/** The errors of jose that say nothing of the token: the keys could not be read. */
const outages: ReadonlySet<string> = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID']);

/**
 * Verifies a JWT that another party's server made, by its keys.
 *
 * @throws {InvalidGrant} for one that is not valid.
 * @throws {Unavailable} if the keys cannot be read: the client may try again with the same JWT.
 */
export async function verifiedJwt(
  jwt: string,
  issuerKeys: () => Promise<AssertionKeys>,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    const keys = await issuerKeys();
    const algorithms = [...signatureAlgorithms];
    return await verifiedBy(keys, () => jwtVerify(jwt, keys, { ...options, algorithms }));
  } catch (error) {
    if (error instanceof errors.JOSEError && !outages.has(error.code)) throw new oauth.InvalidGrant(error.message);
    throw new Unavailable(
      'the issuer of the assertion cannot be asked for its keys',
      `the issuer of the assertion cannot be asked for its keys: ${reasonOf(error)}`,
    );
  }
}
