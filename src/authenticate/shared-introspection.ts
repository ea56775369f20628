import { hash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { lengthPrefixed } from '../lib/length-prefixed.ts';
import type { AuthorizationServer, Introspection } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';
import type { Claims, Principal } from '../model/principal.ts';
import type { KeptAnswer, SharedAnswers } from '../model/shared.ts';
import { principalOfAnswer, type IntrospectionAnswer } from './introspection-answer.ts';

/** What a server says of an active token. */
export interface Introspected {
  readonly principal: Principal;
  /** Until when it may be used again; ms since the epoch. */
  readonly reusableUntil: number;
}

/**
 * Explains opaque tokens of one authorization server, for the address of `asker` or for ourselves; undefined: not active there. Throws as
 * `createIntrospector` says.
 */
export interface Introspector {
  /** What the server said to any replica a moment ago, or else says now. */
  known(token: string, asker?: string): Promise<Introspected | undefined>;
  /** What it says now, whatever it has said. */
  afresh(token: string, asker?: string): Promise<Introspected | undefined>;
}

/**
 * Lets the replicas ask `server` once between them. What it said is read as if it had said it now; that a token is not
 * active is never shared.
 *
 * @param ask Throws {Denial} where the server cannot be asked.
 * @param answers Undefined: each replica asks for itself.
 */
export function createSharedIntrospection(
  server: AuthorizationServer & { readonly introspection: Introspection },
  ask: (token: string, asker: string | undefined) => Promise<IntrospectionAnswer | undefined>,
  hierarchy: ReadonlyMap<string, readonly string[]>,
  answers: SharedAnswers | undefined,
  clock: Clock,
): Introspector {
  const { cacheMs, response, credentials } = server.introspection;
  // Who asks every time wants to hear it from the server.
  const shared = cacheMs > 0 ? answers : undefined;
  const prefix = lengthPrefixed([server.issuer, credentials.clientId, response.kind]);

  function keyOf(token: string): string {
    return prefix + lengthPrefixed([hash('sha256', token, 'base64url')]);
  }

  function introspected(answer: IntrospectionAnswer, end = Infinity): Introspected {
    const principal = principalOfAnswer(answer, server, hierarchy, clock);
    const expiresAt = (principal.expiresAt ?? Infinity) * 1000;
    return { principal, reusableUntil: Math.min(clock() + cacheMs, expiresAt, end) };
  }

  /** What was kept, where it still says that the token is one for us; the server itself says why it is none. */
  function reread({ answer, expiresAt }: KeptAnswer): Introspected | undefined {
    if (!isAnswer(answer) || (response.kind === 'jwt' && answer.jwt === undefined)) return undefined;
    try {
      return introspected(answer, expiresAt);
    } catch (error) {
      if (error instanceof Denial) return undefined;
      throw error;
    }
  }

  async function askAndShare(token: string, key: string, asker: string | undefined): Promise<Introspected | undefined> {
    try {
      const answer = await ask(token, asker);
      const found = answer && introspected(answer);
      if (found === undefined) shared?.delete('introspection', key);
      else shared?.set('introspection', key, answer, found.reusableUntil);
      return found;
    } catch (error) {
      if (isAboutToken(error)) shared?.delete('introspection', key);
      throw error;
    }
  }

  return {
    async known(token, asker) {
      const key = keyOf(token);
      const kept = await shared?.get('introspection', key);
      return (kept && reread(kept)) ?? askAndShare(token, key, asker);
    },
    afresh: (token, asker) => askAndShare(token, keyOf(token), asker),
  };
}

function isAboutToken(error: unknown): boolean {
  return error instanceof Denial && error.reason !== 'authorization_server.unavailable';
}

/** A replica wrote it, which may be of another release. */
function isAnswer(answer: unknown): answer is IntrospectionAnswer {
  if (typeof answer !== 'object' || answer === null) return false;
  const { claims, jwt } = answer as { readonly claims?: Claims; readonly jwt?: unknown };
  return typeof claims === 'object' && claims !== null && (jwt === undefined || typeof jwt === 'string');
}
