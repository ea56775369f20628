import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import { type BrowserBinding, INTERACTION_SECONDS } from './browser-binding.ts';
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
  /** Remembers a sign-in. */
  begin(signIn: Omit<PendingSignIn, 'state' | 'nonce' | 'codeVerifier' | 'beganAt'>): Promise<PendingSignIn>;
  /**
   * The sign-in that `state` names, once. Undefined for another browser, another provider, a used or an unknown state:
   * an attacker must not finish a sign-in in the victim's browser, or the victim's in another (login CSRF, RFC 9700
   * §4.7), nor present the answer of one provider as that of another (mix-up, §4.4).
   */
  take(request: IncomingMessage, state: string, provider: string): Promise<PendingSignIn | undefined>;
}

/** Creates the sign-ins. */
export function createSignIns(store: Store, browsers: BrowserBinding, clock: Clock): SignIns {
  const idOf = (state: string): string => hash('sha256', state, 'base64url');
  return {
    async begin(signIn) {
      const [state, nonce, codeVerifier] = Array.from({ length: 3 }, () => randomBytes(32).toString('base64url')) as [
        string,
        string,
        string,
      ];
      const pending: PendingSignIn = { ...signIn, state, nonce, codeVerifier, beganAt: clock() };
      const expiresAt = clock() + INTERACTION_SECONDS * 1000;
      await store.set({ kind: 'SignIn', id: idOf(state), value: pending, expiresAt, owner: signIn.interaction });
      return pending;
    },
    async take(request, state, provider) {
      const found = (await store.get('SignIn', idOf(state))) as PendingSignIn | undefined;
      if (found?.provider !== provider || !browsers.isBound(request, found.interaction)) return undefined;
      // Undefined if another request was faster.
      return (await store.take('SignIn', idOf(state))) as PendingSignIn | undefined;
    },
  };
}
