import { ownMember } from '../lib/json/own-member.ts';
import { emailDigest, providerSession } from '../model/front-door.ts';
import type { RevocationCheck } from '../model/revocation.ts';
import { lowerCase } from '../store/revocation-index.ts';

/** What a provider said of one sign-in, and when: a revocation is of a person, of an address or of a session there. */
export interface SignInFacts {
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

/** Whether a record of the front door, a session or what came of it, is of a person whose rights ended. */
export function isRevoked(check: RevocationCheck, issuer: string, record: unknown): boolean {
  const subject = ownMember(record, 'accountId');
  if (typeof subject !== 'string') return false;
  const facts = factsOf(ownMember(record, 'amr'));
  const iat = ownMember(record, 'iat');
  const jti = ownMember(record, 'jti');
  // A refreshed token is newer than the sign-in that it rests on.
  const issuedAt = facts?.at ?? (typeof iat === 'number' ? iat : undefined);
  const extra = ownMember(record, 'extra');
  const claims = { ...(extra as object | undefined), ...facts?.claims, jti };
  return check.revokes({ issuer, subject, issuedAt, claims });
}
