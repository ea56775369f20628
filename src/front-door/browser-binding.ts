import { createHmac, hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isSameSecret } from '../core/lib/digest.ts';

/** Binds each interaction to the browser that began it. */
export interface BrowserBinding {
  /** Sets the cookie of an interaction. */
  bind(request: IncomingMessage, response: ServerResponse, interaction: string): void;
  /** Whether this browser began the interaction. */
  isBound(request: IncomingMessage, interaction: string): boolean;
}

/** The time that a person may take for one interaction. */
export const INTERACTION_SECONDS = 30 * 60;
/** A site can begin interactions in the browser of a person. More cookies would exceed the length of a header. */
const MAX_COOKIES = 32;

/**
 * Creates the binding. The cookies of oidc-provider do not bind: another host of the domain can set them, and so have a
 * person consent to a request of the attacker, who then gets the code (RFC 6265bis §8.6).
 *
 * @param key What only the front door knows.
 */
export function createBrowserBinding(issuer: string, key: string): BrowserBinding {
  const { protocol, pathname } = new URL(issuer);
  const isSecure = protocol === 'https:';
  // RFC 6265bis §4.1.3.2: no other host of the domain can set a cookie with this prefix. It needs TLS, and this path.
  const prefix = `${isSecure ? '__Host-' : ''}sallyport_sign_in_`;
  const attributes = `Path=${isSecure ? '/; Secure' : `${pathname.replace(/\/$/, '')}/`}; HttpOnly; SameSite=Lax`;
  /** A name for each interaction, so that two at once do not disturb each other. */
  const nameOf = (interaction: string): string => prefix + hash('sha256', interaction, 'hex').slice(0, 16);
  const valueOf = (interaction: string): string =>
    createHmac('sha256', key).update(`interaction ${interaction}`).digest('base64url');

  return {
    bind(request, response, interaction) {
      const cookie = `${nameOf(interaction)}=${valueOf(interaction)}`;
      response.appendHeader('set-cookie', `${cookie}; Max-Age=${INTERACTION_SECONDS}; ${attributes}`);
      // Browsers send the oldest first, RFC 6265 §5.4.
      const earlier = cookiesOf(request).filter(([name]) => name.startsWith(prefix));
      for (const [name] of earlier.slice(0, Math.max(0, earlier.length + 1 - MAX_COOKIES))) {
        response.appendHeader('set-cookie', `${name}=; Max-Age=0; ${attributes}`);
      }
    },
    isBound(request, interaction) {
      const [own, expected] = [nameOf(interaction), valueOf(interaction)];
      return cookiesOf(request).some(([name, value]) => name === own && isSameSecret(value, expected));
    },
  };
}

function cookiesOf({ headers }: IncomingMessage): readonly (readonly [name: string, value: string])[] {
  return (headers.cookie ?? '').split(';').map((pair) => {
    const [name = '', ...value] = pair.trim().split('=');
    return [name, value.join('=')];
  });
}
