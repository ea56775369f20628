/**
 * Which callers the admin listener answers: the Host that a request must name, and the token that callers off loopback
 * must present.
 *
 * @module
 */

import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AdminRefusal } from '../../capabilities/admin.ts';
import { cookiesNamed, retryAfterSeconds } from '../../core/lib/http/header-fields.ts';
import { addressBlock, isLoopbackAddress } from '../../core/lib/ip-address.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { isSameSecret } from '../../core/lib/digest.ts';
import { createTokenBuckets, type TokenBuckets } from '../../core/lib/token-buckets.ts';
import type { AdminRules } from '../../ports/config.ts';
import { ADMIN_COOKIE } from '../../core/model/fields.ts';
import { isIP } from 'node:net';

/** The limit on wrong tokens of one address; an IPv6 /64 counts as one address. */
const WRONG_TOKENS = { requests: 10, perMs: 60_000, burst: 10 };
/** The limit on counted addresses; the least recently seen one is evicted first. */
const MAX_ADDRESSES = 1_000;

/** Header fields by which proxies say that the caller is another machine. */
const forwarded = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

const NO_TOKEN = `This needs the admin token, and the running gateway has no admin.token.

Set it in gateway.yaml, or the variable that it names there, to at least 16 random characters, and restart serve.
`;
const NO_TOKEN_CONFIGURED = `${NO_TOKEN}
Or ask on the gateway's own machine, at a loopback address.
`;
const TOKEN_NEEDED = `This needs the admin token: send "Authorization: Bearer TOKEN", or sign in at /sign-in.
`;

/** Decides which callers the admin listener answers. */
export class Access {
  readonly #clock: Clock;
  readonly #onWrongToken: (address: string) => void;
  readonly #wrongTokens: TokenBuckets;
  #hosts: readonly string[] = [];
  #secret: { readonly digest: Buffer; readonly sessions: OperatorSessions } | undefined;

  /** @param onWrongToken Called with the address of a wrong token. */
  constructor(rules: AdminRules, clock: Clock, onWrongToken: (address: string) => void) {
    this.#clock = clock;
    this.#onWrongToken = onWrongToken;
    this.#wrongTokens = createTokenBuckets(MAX_ADDRESSES, clock);
    this.reload(rules);
  }

  /** Applies the rules of another configuration. The counts of wrong tokens stay. */
  reload({ hosts, token }: AdminRules): void {
    this.#hosts = hosts;
    this.#secret =
      token === undefined ? undefined : { digest: digest(token), sessions: createOperatorSessions(token, this.#clock) };
  }

  /**
   * Refuses what a web page could have sent by DNS rebinding.
   *
   * @throws {AdminRefusal} 400 for two Host headers (RFC 9112 §3.2), 403 for a foreign or absent one.
   */
  requireOwnHost(request: IncomingMessage): void {
    const [host = '', second] = request.headersDistinct['host'] ?? [];
    if (second !== undefined) throw new AdminRefusal(400, 'There are two Host headers.\n');
    if (hostKind(host, this.#hosts) === 'foreign')
      throw new AdminRefusal(403, 'The Host is not a name of this listener: add it to admin.hosts in gateway.yaml.\n');
  }

  /**
   * Whether the caller may see everything: it is on loopback, or presents the token or a session's cookie.
   *
   * @throws {AdminRefusal} 401 for a wrong token, 429 after too many of them.
   */
  isOperator(request: IncomingMessage): boolean {
    if (this.#isOnLoopback(request)) return true;
    if (this.#secret === undefined) return false;
    return this.#secret.sessions.isOpen(request.headers.cookie) || this.#presentsToken(request, this.#secret.digest);
  }

  /** @throws {AdminRefusal} unless {@link Access.isOperator}: 401, or 403 where no token is configured. */
  requireOperator(request: IncomingMessage): void {
    if (this.isOperator(request)) return;
    throw this.#secret === undefined
      ? new AdminRefusal(403, NO_TOKEN_CONFIGURED)
      : unauthorized(TOKEN_NEEDED, 'Bearer');
  }

  /**
   * Requires the token itself, on loopback too: for what changes something, or names people. The cookie of a session
   * does not do: the page of another site could send it.
   *
   * @returns the sessions of the token.
   * @throws {AdminRefusal} 401, 403 where no token is configured, 429.
   */
  requireToken(request: IncomingMessage): OperatorSessions {
    if (this.#secret === undefined) throw new AdminRefusal(403, NO_TOKEN);
    if (!this.#presentsToken(request, this.#secret.digest)) throw unauthorized(TOKEN_NEEDED, 'Bearer');
    return this.#secret.sessions;
  }

  /** Whether a token is configured, so that an operator can sign in. */
  hasSignIn(): boolean {
    return this.#secret !== undefined;
  }

  /**
   * The `Set-Cookie` value that begins a session for a request that presents the token.
   *
   * @throws {AdminRefusal} 403 for a request of another origin, else as {@link Access.requireToken}.
   */
  signIn(request: IncomingMessage): string {
    const origin = request.headers.origin ?? '';
    requireSameOrigin(request, origin);
    return this.requireToken(request).begin(origin.startsWith('https:'));
  }

  /** Whether the peer address and the Host are of this machine, and no proxy speaks for another one. */
  #isOnLoopback({ socket, headers }: IncomingMessage): boolean {
    if (!isLoopbackAddress(socket.remoteAddress ?? '') || hostKind(headers.host ?? '', this.#hosts) !== 'loopback')
      return false;
    return forwarded.every((name) => headers[name] === undefined);
  }

  /**
   * Whether it presents the token. An address that has used up its attempts is refused whatever it presents: if the
   * right token still passed, the limit would not slow down guessing.
   */
  #presentsToken(request: IncomingMessage, expected: Buffer): boolean {
    const [, token] = /^bearer +(.+)$/i.exec(request.headers.authorization ?? '') ?? [];
    if (token === undefined) return false;
    const address = addressBlock(request.socket.remoteAddress ?? '');
    const waitMs = this.#wrongTokens.take(address, WRONG_TOKENS);
    if (waitMs > 0) {
      throw new AdminRefusal(429, 'Too many wrong tokens from this address. Try again later.\n', {
        'retry-after': String(retryAfterSeconds(waitMs)),
      });
    }
    // Digests have one length, and the time of their comparison reveals nothing about the token.
    if (!timingSafeEqual(digest(token), expected)) {
      this.#onWrongToken(address);
      throw unauthorized('The token is wrong.\n', 'Bearer error="invalid_token"');
    }
    this.#wrongTokens.give(address, WRONG_TOKENS);
    return true;
  }
}

/**
 * Requires that a page of this listener sent a request with a body. Another origin can send neither the header nor this
 * Origin without a preflight, which gets no permission.
 *
 * @throws {AdminRefusal} 403.
 */
export function requireOwnPage(request: IncomingMessage): void {
  requireSameOrigin(request, request.headers.origin ?? '');
  if (request.headers['x-sallyport-console'] === undefined) {
    throw new AdminRefusal(403, 'Send the header "X-Sallyport-Console: 1" with this request.\n');
  }
}

/**
 * Another site must neither guess tokens through an operator's browser nor sign it in. Browsers send Origin on POST.
 */
function requireSameOrigin({ headers }: IncomingMessage, origin: string): void {
  const own = [`http://${headers.host}`, `https://${headers.host}`];
  const site = headers['sec-fetch-site'];
  if (own.includes(origin) && (site === undefined || site === 'same-origin')) return;
  throw new AdminRefusal(403, 'Use the page of this listener; a proxy before it must pass Host on unchanged.\n');
}

function unauthorized(message: string, challenge: string): AdminRefusal {
  return new AdminRefusal(401, message, { 'www-authenticate': challenge });
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The lifetime of a session; then the operator signs in again. */
const LIFETIME_SECONDS = 8 * 3600;

/** The sessions of operators who signed in with one admin token. Nothing is stored: each cookie carries a MAC. */
interface OperatorSessions {
  /** A `Set-Cookie` value that begins a session. @param secure Whether the browser came over TLS. */
  begin(secure: boolean): string;
  /** Whether a `Cookie` field holds a session that has not ended. */
  isOpen(cookies: string | undefined): boolean;
}

/**
 * Creates the sessions of `token`. Their key is derived from the token (RFC 5869). Replicas with the same token accept
 * each other's cookies, also after a restart; a new token ends all sessions.
 */
function createOperatorSessions(token: string, clock: Clock): OperatorSessions {
  const key = Buffer.from(hkdfSync('sha256', token, '', 'sallyport admin session', 32));
  const now = (): number => Math.floor(clock() / 1000);
  const signed = (expiry: string): string =>
    `${expiry}.${createHmac('sha256', key).update(expiry).digest('base64url')}`;

  function isGenuine(value: string): boolean {
    const [expiry = ''] = value.split('.', 1);
    // Compared as text: there is one spelling of each value.
    return isSameSecret(value, signed(expiry)) && Number(expiry) > now();
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

/** RFC 9110 §7.2: an IPv6 address in brackets, or a name or IPv4 address, perhaps with a trailing dot; then a port. */
const shape = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]*[a-z0-9_-])(\.?))(?::[0-9]{0,5})?$/;

/**
 * The kind of a Host header's value: this machine (`loopback`), another name of the admin listener, which an attacker
 * cannot bind to its address (`own`), or anything else (`foreign`).
 *
 * By DNS rebinding, an attacker's page gets an origin at this listener's address and may read its answers. The Host is
 * then a name that the attacker registered. Addresses, `localhost` (RFC 6761 §6.3) and single labels cannot be
 * registered. With a trailing dot a single label is a top-level domain, which can.
 *
 * @param hosts Other names of the listener, in lower case.
 */
export function hostKind(host: string, hosts: readonly string[]): 'loopback' | 'own' | 'foreign' {
  const [, bracketed, plain, dot] = shape.exec(host.toLowerCase()) ?? [];
  const name = bracketed ?? plain;
  if (name === undefined) return 'foreign';
  if (isIP(name) !== 0) return isLoopbackAddress(name) ? 'loopback' : 'own';
  if (bracketed !== undefined) return 'foreign';
  if (name === 'localhost' || name.endsWith('.localhost')) return 'loopback';
  return hosts.includes(name) || (!name.includes('.') && dot === '') ? 'own' : 'foreign';
}
