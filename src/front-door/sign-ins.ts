import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import type { SignInChecks } from './identity-provider.ts';
import type { Store } from './store.ts';

/** A sign-in that was sent to a provider and has not come back. */
export interface PendingSignIn extends SignInChecks {
  /** The interaction of oidc-provider that waits for it. */
  readonly interaction: string;
  readonly provider: string;
  /** Whether the person has consented for this interaction. */
  readonly hasConsented: boolean;
}

/** The sign-ins under way, each bound to the browser that began it. */
export interface SignIns {
  /** Remembers a sign-in, and sets its cookie. */
  begin(
    response: ServerResponse,
    signIn: Pick<PendingSignIn, 'interaction' | 'provider' | 'hasConsented' | 'maxAgeSeconds'>,
  ): Promise<PendingSignIn>;
  /**
   * The sign-in that `state` names, once. Undefined for another browser, another provider, a used or an unknown state:
   * an attacker must not finish a sign-in in the victim's browser, or the victim's in another (login CSRF, RFC 9700
   * §4.7), nor present the answer of one provider as that of another (mix-up, §4.4).
   */
  take(
    request: IncomingMessage,
    response: ServerResponse,
    state: string,
    provider: string,
  ): Promise<PendingSignIn | undefined>;
}

/** How long a person may take at the provider. */
const SIGN_IN_MS = 30 * 60_000;

/** Creates the sign-ins of `issuer`. */
export function createSignIns(store: Store, issuer: string, clock: Clock): SignIns {
  const { protocol, pathname } = new URL(issuer);
  const isSecure = protocol === 'https:';
  // RFC 6265bis §4.1.3.2: no other host of the domain can set a cookie with this prefix. It needs TLS.
  const attributes = isSecure
    ? 'Path=/; Secure; HttpOnly; SameSite=Lax'
    : `Path=${pathname.replace(/\/$/, '')}/callback; HttpOnly; SameSite=Lax`;
  /** One for each sign-in, so that two at once do not disturb each other. */
  const cookieOf = (state: string): string =>
    `${isSecure ? '__Host-' : ''}sallyport_sign_in_${hash('sha256', state, 'hex').slice(0, 16)}`;

  return {
    async begin(response, signIn) {
      const [state, nonce, codeVerifier, binding] = Array.from({ length: 4 }, () =>
        randomBytes(32).toString('base64url'),
      ) as [string, string, string, string];
      const pending: PendingSignIn = { ...signIn, state, nonce, codeVerifier };
      const id = hash('sha256', state, 'base64url');
      await store.set('SignIn', id, { pending, binding: hash('sha256', binding, 'base64url') }, clock() + SIGN_IN_MS);
      response.appendHeader('set-cookie', `${cookieOf(state)}=${binding}; Max-Age=${SIGN_IN_MS / 1000}; ${attributes}`);
      return pending;
    },
    async take(request, response, state, provider) {
      const id = hash('sha256', state, 'base64url');
      const kept = (await store.get('SignIn', id)) as { pending: PendingSignIn; binding: string } | undefined;
      if (kept === undefined || kept.pending.provider !== provider) return undefined;
      const cookies = cookiesOf(request, cookieOf(state));
      if (!cookies.some((value) => isSame(hash('sha256', value, 'base64url'), kept.binding))) return undefined;
      if (!(await store.firstSeen(`SignIn ${id}`, clock() + SIGN_IN_MS, provider))) return undefined;
      await store.delete('SignIn', id);
      response.appendHeader('set-cookie', `${cookieOf(state)}=; Max-Age=0; ${attributes}`);
      return kept.pending;
    },
  };
}

function cookiesOf({ headers }: IncomingMessage, name: string): readonly string[] {
  return (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
