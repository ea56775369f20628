import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { cookiesNamed } from '../lib/http/header-fields.ts';
import { ADMIN_COOKIE } from '../model/own-cookies.ts';

/** The lifetime of a session; then the operator signs in again. */
const LIFETIME_SECONDS = 8 * 3600;

/** The sessions of operators who signed in with one admin token. Nothing is stored: each cookie carries a MAC. */
export interface OperatorSessions {
  /** A `Set-Cookie` value that begins a session. @param secure Whether the browser came over TLS. */
  begin(secure: boolean): string;
  /** Whether a `Cookie` field holds a session that has not ended. */
  isOpen(cookies: string | undefined): boolean;
}

/**
 * Creates the sessions of `token`. Their key is derived from the token (RFC 5869). Replicas with the same token accept
 * each other's cookies, also after a restart; a new token ends all sessions.
 */
export function createOperatorSessions(token: string, clock: Clock): OperatorSessions {
  const key = Buffer.from(hkdfSync('sha256', token, '', 'sallyport admin session', 32));
  const now = (): number => Math.floor(clock() / 1000);
  const signed = (expiry: string): string =>
    `${expiry}.${createHmac('sha256', key).update(expiry).digest('base64url')}`;

  function isGenuine(value: string): boolean {
    const [expiry = ''] = value.split('.', 1);
    // Compared as text: there is one spelling of each value.
    const [shown, expected] = [Buffer.from(value), Buffer.from(signed(expiry))];
    return shown.length === expected.length && timingSafeEqual(shown, expected) && Number(expiry) > now();
  }

  return {
    begin(secure) {
      const value = signed(String(now() + LIFETIME_SECONDS));
      // SameSite=Strict: no other site makes the browser show it. Browsers send it to every port of the host, so that
      // the gateway removes it from what goes to upstreams.
      const attributes = `Path=/; Max-Age=${LIFETIME_SECONDS}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
      return `${ADMIN_COOKIE}=${value}; ${attributes}`;
    },
    isOpen: (cookies) => cookiesNamed(ADMIN_COOKIE, cookies).some(isGenuine),
  };
}
