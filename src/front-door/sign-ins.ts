import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import type { BrowserBinding } from './browser-binding.ts';
import type { SignInChecks } from './identity-provider.ts';
import { limitsOf } from './record-kinds.ts';
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
  /**
   * Remembers a sign-in.
   *
   * @param lifeMs How long its interaction lives.
   */
  begin(
    signIn: Omit<PendingSignIn, 'state' | 'nonce' | 'codeVerifier' | 'beganAt'>,
    lifeMs: number,
  ): Promise<PendingSignIn>;
  /** Forgets the sign-ins of an interaction, which has its result. */
  end(interaction: string): Promise<void>;
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
  const setOf = (interaction: string): string => `SignIn ${idOf(interaction)}`;

  async function end(interaction: string): Promise<void> {
    const ids = await store.takeMembers(setOf(interaction));
    await Promise.all(ids.map((id) => store.delete('SignIn', id)));
  }

  return {
    end,
    async begin(signIn, lifeMs) {
      const [state, nonce, codeVerifier] = Array.from({ length: 3 }, () => randomBytes(32).toString('base64url')) as [
        string,
        string,
        string,
      ];
      const pending: PendingSignIn = { ...signIn, state, nonce, codeVerifier, beganAt: clock() };
      const id = idOf(state);
      const expiresAt = clock() + lifeMs;
      await store.set({ kind: 'SignIn', id, value: pending, expiresAt, owner: signIn.interaction });
      await store.addMember(setOf(signIn.interaction), id, expiresAt, limitsOf('SignIn').mostOfOwner);
      return pending;
    },
    async take(request, state, provider) {
      const signIn = (await store.get('SignIn', idOf(state))) as PendingSignIn | undefined;
      if (signIn?.provider !== provider || !browsers.isBound(request, signIn.interaction)) return undefined;
      // Undefined if another request was faster.
      const taken = (await store.take('SignIn', idOf(state))) as PendingSignIn | undefined;
      if (taken !== undefined) await end(taken.interaction);
      return taken;
    },
  };
}
