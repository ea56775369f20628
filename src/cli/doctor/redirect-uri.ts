import { randomBytes } from 'node:crypto';
import type { ProviderClient } from '../../front-door/identity-provider.ts';
import { describeValue } from '../../lib/json/describe-value.ts';
import { fetchText } from './fetch-text.ts';
import { type Finding, findingsOn } from './finding.ts';

/** The most redirects of a provider that are followed. */
const MAX_REDIRECTS = 5;

/** OpenID Connect Core §3.1.2.6: the errors of a request without a session, as from here. */
const signInErrors = new Set([
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
]);

/**
 * Examines whether a provider knows the redirect URI, without signing in. To `prompt=none` a provider shows no page
 * (OpenID Connect Core §3.1.2.1): it redirects to a registered URI, and never to another one (RFC 6749 §4.1.2.1).
 */
export async function examineRedirectUri(client: ProviderClient): Promise<Finding> {
  const { redirectUri } = client;
  const on = findingsOn(`front_door.identity_providers.${client.settings.name}`);
  try {
    const { status, callback } = await silentAnswer(client);
    if (callback !== undefined) {
      const error = callback.searchParams.get('error') ?? 'login_required';
      if (signInErrors.has(error)) return on.ok(`the redirect URI ${redirectUri} is registered there`);
      const text = `it answers a sign-in with the error ${describeValue(error)}`;
      return on.fail(text, 'check scopes of the provider, and what its client may do there');
    }
    if (status >= 400 && status < 500) {
      const text = `it refuses the redirect URI ${redirectUri} (${status})`;
      return on.fail(text, 'register exactly this redirect URI for the client there');
    }
  } catch {
    // Its authorization endpoint is for browsers, and may be out of reach from here.
  }
  return on.ok(`register the redirect URI ${redirectUri} there (whether it is cannot be seen without a sign-in)`);
}

/** The last answer to an authorization request, and the callback that it led to; undefined: it led to none. */
async function silentAnswer(
  client: ProviderClient,
): Promise<{ readonly status: number; readonly callback: URL | undefined }> {
  const own = new URL(client.redirectUri);
  const random = (): string => randomBytes(32).toString('base64url');
  const secrets = { state: random(), nonce: random(), codeVerifier: random() };
  const checks = { ...secrets, maxAgeSeconds: undefined, mustBeNew: false, beganAt: Date.now() };
  let url = await client.begin(checks, undefined);
  url.searchParams.set('prompt', 'none');
  for (let redirects = 0; ; redirects += 1) {
    // oxlint-disable-next-line no-await-in-loop: one leads to the next
    const { status, headers } = await fetchText(url.href);
    const location = headers.get('location');
    if (location === null || redirects === MAX_REDIRECTS) return { status, callback: undefined };
    url = new URL(location, url);
    if (url.origin === own.origin && url.pathname === own.pathname) return { status, callback: url };
  }
}
