import * as openid from 'openid-client';
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import { reachable } from '../authorization-server/discovery.ts';
import type { Clock } from '../lib/clock.ts';
import { boundedAnswer } from '../lib/http/bodies.ts';
import { loadHourly } from '../lib/single-flight.ts';
import type { AssertionIssuer, TrustedIssuer } from '../model/front-door.ts';

type Reached = Pick<TrustedIssuer, 'issuer' | 'backchannel'>;

interface DiscoveringClient {
  readonly metadata: openid.ClientMetadata;
  readonly auth: openid.ClientAuth;
  /** How long one call may take. */
  readonly timeoutSeconds: number;
  /** Changes to the configuration that is found. */
  readonly execute?: openid.DiscoveryRequestOptions['execute'];
}

/** The longest answer of an issuer: metadata, keys, tokens or claims of a person. */
const MAX_BYTES = 512 * 1024;

/**
 * The `fetch` of endpoints of an issuer, which bounds each answer. It follows no redirect, which could lead to another
 * party's keys. The caller's `signal` bounds the time, until the last byte.
 */
export function createIssuerFetch(from: Reached): (url: string, options: object) => Promise<Response> {
  return async (url, options) => {
    return boundedAnswer(await fetch(reachable(url, from), { ...options, redirect: 'error' }), MAX_BYTES);
  };
}

/** Discovers an issuer. @throws if its metadata name another one. */
export async function discoverIssuer(
  from: Reached,
  { metadata, auth, timeoutSeconds, execute = [] }: DiscoveringClient,
): Promise<openid.Configuration> {
  const { issuer, backchannel } = from;
  const isPlain = [issuer, backchannel].some((url) => url.startsWith('http:'));
  const configuration = await openid.discovery(new URL(issuer), metadata.client_id, metadata, auth, {
    timeout: timeoutSeconds,
    [openid.customFetch]: createIssuerFetch(from),
    // The operator wrote http, of which `check` warns off loopback.
    execute: [...execute, ...(isPlain ? [openid.allowInsecureRequests] : [])],
  });
  // openid-client compares the parsed URL. A trailing slash makes another issuer.
  if (configuration.serverMetadata().issuer !== issuer) throw new Error('the metadata name another issuer');
  return configuration;
}

const TIMEOUT_SECONDS = 5;

/** Creates the key source of `settings`. It discovers the issuer at the first assertion, and again each hour. */
export function createAssertionKeys(settings: AssertionIssuer, clock: Clock): JWTVerifyGetKey {
  const keys = loadHourly(() => discoverKeys(settings), clock);
  return async (header, token) => (await keys())(header, token);
}

/** Discovers an issuer. @throws if its metadata name another one, or no keys. */
export async function discoverKeys(settings: AssertionIssuer): Promise<JWTVerifyGetKey> {
  const client = { metadata: { client_id: 'front-door' }, auth: openid.None(), timeoutSeconds: TIMEOUT_SECONDS };
  const { jwks_uri: jwksUri } = (await discoverIssuer(settings, client)).serverMetadata();
  if (jwksUri === undefined) throw new Error('the metadata have no jwks_uri');
  const options = { timeoutDuration: TIMEOUT_SECONDS * 1000, [customFetch]: createIssuerFetch(settings) };
  return createRemoteJWKSet(new URL(jwksUri), options);
}
