import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../core/lib/clock.ts';
import { ownMember } from '../core/lib/json/own-member.ts';
import { emailDigest, providerSession } from '../tokens/front-door-subject.ts';
import type { FrontDoorRevocations } from '../ports/revocation.ts';
import { lowerCase } from '../core/lib/ascii.ts';
import type { BrowserBinding } from './browser-binding.ts';
import type { SignInChecks } from './identity-provider.ts';
import { digestOf } from '../core/lib/digest.ts';
import { limitsOf, type Store } from './store.ts';

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
  const setOf = (interaction: string): string => `SignIn ${digestOf(interaction)}`;

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
      const id = digestOf(state);
      const expiresAt = clock() + lifeMs;
      await store.set({ kind: 'SignIn', id, value: pending, expiresAt, owner: signIn.interaction });
      await store.addMember(setOf(signIn.interaction), id, expiresAt, limitsOf('SignIn').mostOfOwner);
      return pending;
    },
    async take(request, state, provider) {
      const signIn = (await store.get('SignIn', digestOf(state))) as PendingSignIn | undefined;
      if (signIn?.provider !== provider || !browsers.isBound(request, signIn.interaction)) return undefined;
      // Undefined if another request was faster.
      const taken = (await store.take('SignIn', digestOf(state))) as PendingSignIn | undefined;
      if (taken !== undefined) await end(taken.interaction);
      return taken;
    },
  };
}

/**
 * The facts of one sign-in at a provider, and its time: a revocation is of a person, of an address or of a session
 * there.
 */
interface SignInFacts {
  /** Seconds since the epoch. */
  readonly at: number;
  /** As tokens have them: `sid` and `email_digest`. */
  readonly claims: Readonly<Record<string, string>>;
}

/**
 * The facts of a sign-in as oidc-provider carries them, in `amr`: from the session to its codes, and on to refresh
 * tokens. It puts `amr` into no token.
 */
export function factsAsAmr(provider: string, nowMs: number, about: { sid: unknown; email: unknown }): string[] {
  const { sid, email } = about;
  return [
    `at:${Math.floor(nowMs / 1000)}`,
    ...(typeof sid === 'string' ? [`sid:${providerSession(provider, sid)}`] : []),
    ...(typeof email === 'string' ? [`email_digest:${emailDigest(provider, lowerCase(email))}`] : []),
  ];
}

/** Reads {@link factsAsAmr}; undefined where a sign-in has none. */
export function factsOf(amr: unknown): SignInFacts | undefined {
  if (!Array.isArray(amr)) return undefined;
  const named = new Map(amr.map((each) => String(each).split(/:(.*)/s, 2) as [string, string]));
  const at = Number(named.get('at'));
  if (!Number.isInteger(at)) return undefined;
  named.delete('at');
  return { at, claims: Object.fromEntries(named) };
}

/** Stands for the client of what no client has, and is the id of none. */
const noClient = ' ';

/** Whether a record of the front door, a session or what came of it, is of a party whose rights ended. */
export function isRevoked(check: FrontDoorRevocations, issuer: string, record: unknown): boolean {
  const extra = ownMember(record, 'extra');
  // A token without a person names its subject among its claims.
  const subject = ownMember(record, 'accountId') ?? ownMember(extra, 'sub');
  const client = ownMember(record, 'clientId');
  const clientId = typeof client === 'string' ? client : undefined;
  const issued = ownMember(record, 'iat');
  if (clientId !== undefined) {
    const at = typeof issued === 'number' ? issued : undefined;
    if (check.blocks(issuer, clientId) || check.hasEnded(issuer, clientId, at)) return true;
  }
  if (typeof subject !== 'string') return false;
  const facts = factsOf(ownMember(record, 'amr'));
  const jti = ownMember(record, 'jti');
  // A refreshed token is newer than the sign-in that it rests on.
  const issuedAt = facts?.at ?? (typeof issued === 'number' ? issued : undefined);
  const claims = { ...(extra as object | undefined), ...facts?.claims, jti };
  // A session is of no client.
  return check.revokes({ issuer, subject, clientId: clientId ?? noClient, issuedAt, claims });
}
