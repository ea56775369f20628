import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import * as openid from 'openid-client';
import { reachable } from '../authorization-server/discovery.ts';
import type { Clock } from '../lib/clock.ts';
import type { AssertionIssuer } from '../model/front-door.ts';

/** How long one call to an issuer may take. */
const TIMEOUT_MS = 5_000;
/** How long its metadata are used; its keys are read again as assertions need them. */
const METADATA_MS = 3_600_000;

/** Creates the key source of `settings`. It discovers the issuer at the first assertion, and again each hour. */
export function createAssertionKeys(settings: AssertionIssuer, clock: Clock): JWTVerifyGetKey {
  let known: { readonly keys: Promise<JWTVerifyGetKey>; readonly at: number } | undefined;

  function keys(): Promise<JWTVerifyGetKey> {
    if (known !== undefined && clock() - known.at < METADATA_MS) return known.keys;
    const attempt = { keys: discover(settings), at: clock() };
    known = attempt;
    // A failure is not remembered: the next assertion tries again.
    attempt.keys.catch(() => {
      if (known === attempt) known = undefined;
    });
    return attempt.keys;
  }

  return async (header, token) => (await keys())(header, token);
}

async function discover(settings: AssertionIssuer): Promise<JWTVerifyGetKey> {
  const { issuer, backchannel } = settings;
  const isPlain = [issuer, backchannel].some((url) => url.startsWith('http:'));
  // A redirect could lead to another party's keys.
  const fetchOnce = (url: string, options: object): Promise<Response> =>
    fetch(reachable(url, settings), { ...options, redirect: 'error' });
  const found = await openid.discovery(new URL(issuer), 'front-door', undefined, openid.None(), {
    timeout: TIMEOUT_MS / 1000,
    [openid.customFetch]: fetchOnce,
    // The operator wrote http, of which `check` warns off loopback.
    execute: isPlain ? [openid.allowInsecureRequests] : [],
  });
  const { issuer: named, jwks_uri: jwksUri } = found.serverMetadata();
  // openid-client compares the parsed URL. A trailing slash makes another issuer.
  if (named !== issuer) throw new Error('the metadata name another issuer');
  if (jwksUri === undefined) throw new Error('the metadata have no jwks_uri');
  return createRemoteJWKSet(new URL(jwksUri), { timeoutDuration: TIMEOUT_MS, [customFetch]: fetchOnce });
}
