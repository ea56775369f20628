import { parseExactly } from '../core/lib/json/lossless.ts';
import { hash } from 'node:crypto';
import { isObject } from '../core/lib/json/own-member.ts';
import { withoutQuery } from '../core/lib/wording.ts';
import type { Clock } from '../core/lib/clock.ts';
import { createExpiringCache } from '../core/lib/expiring-cache.ts';
import { lengthPrefixed } from '../core/lib/digest.ts';
import type { AuthorizationServer, Introspection } from '../core/model/authorization-server.ts';
import type { AuthorizationServerClient, ServerAnswer } from '../ports/authorization-server-client.ts';
import { Denial } from '../core/model/denial.ts';
import type { Claims, Principal } from '../core/model/principal.ts';
import type { SharedAnswers } from '../ports/shared.ts';
import { type Answer, AnswerCache } from './answer-cache.ts';
import {
  createSignedAnswerReader,
  type IntrospectionAnswer,
  principalOfAnswer,
  signedAnswerTypes,
} from './introspection-answer.ts';
import type { KeySource } from './keys.ts';

/** Reads an authenticated answer; undefined: the token is not active. */
type AnswerReader = (
  answer: ServerAnswer,
) => IntrospectionAnswer | undefined | Promise<IntrospectionAnswer | undefined>;

/**
 * Creates the introspection at `client`'s server, RFC 7662.
 *
 * @param keys The keys of the server, for signed answers.
 * @param answers The store that replicas share, if there is one.
 * @returns functions that throw {Denial} `authorization_server.unavailable` if the server does not answer, refuses the
 *   gateway's credentials or does not sign as required, and `token.*` if the answer refuses the token.
 */
export function createIntrospector(
  client: AuthorizationServerClient,
  keys: KeySource,
  hierarchy: ReadonlyMap<string, readonly string[]>,
  clock: Clock,
  answers?: SharedAnswers,
): SharedIntrospector {
  const { server } = client;
  const { introspection } = server;
  if (introspection === undefined) throw new TypeError(`${server.name} has no introspection`);
  const { credentials, response } = introspection;
  const isSigned = response.kind === 'jwt';
  const accept = isSigned ? signedAnswerTypes : 'application/json';
  const read: AnswerReader = isSigned
    ? createSignedAnswerReader(server, credentials.clientId, response.algorithms, keys, clock)
    : plainAnswer;

  const ask = async (token: string, onBehalfOf: string | undefined): Promise<IntrospectionAnswer | undefined> => {
    const endpoint = introspection.endpoint ?? (await client.metadata()).introspectionEndpoint;
    if (endpoint === undefined)
      throw unavailable('its metadata has no introspection_endpoint; set introspection.endpoint');
    const form = new URLSearchParams({ token, token_type_hint: 'access_token' });
    const answer = await client.post('introspection', endpoint, form, credentials, { accept, onBehalfOf });
    // An empty answer in place of a phantom token means that the token is not active.
    if (isSigned && answer.status === 204) return undefined;
    // RFC 7662 §2.3: a 401 refuses the gateway's credentials, never the token.
    if (answer.status !== 200)
      throw unavailable(
        `${withoutQuery(endpoint)} answered ${answer.status}; check introspection.client_id and its secret or key`,
      );
    return await read(answer);
  };
  return createSharedIntrospection({ ...server, introspection }, ask, hierarchy, answers, clock);

  function plainAnswer({ body, text }: ServerAnswer): IntrospectionAnswer | undefined {
    if (!isObject(body)) throw unavailable('its introspection did not answer with a JSON object');
    // RFC 7662 §2.2: a boolean. The string "true" is a mistake of the server and grants nothing.
    if (body['active'] !== true) return undefined;
    return parseExactly(text) === undefined ? { claims: body } : { claims: body, text };
  }

  function unavailable(why: string): Denial {
    return new Denial('authorization_server.unavailable', `${server.name}: ${why}`);
  }
}

/** The introspection of an active token. */
export interface Introspected {
  readonly principal: Principal;
  /** Until when the answer may be reused, in milliseconds since the epoch. */
  readonly reusableUntil: number;
}

/** What a server says of a token: without a principal, that it is not active. */
export type IntrospectionOutcome = Introspected | { readonly principal: undefined };

/**
 * Introspects opaque tokens at one authorization server. `onBehalfOf` is the address of the caller, by default the
 * gateway itself. Throws as {@link createIntrospector} says.
 */
export interface Introspector {
  /** Uses a recent answer to any replica, or else asks the server. */
  known(token: string, onBehalfOf?: string): Promise<IntrospectionOutcome>;
  /** Asks the server, past every cache. */
  afresh(token: string, onBehalfOf?: string): Promise<IntrospectionOutcome>;
}

/** An introspection whose answers replicas share. */
export interface SharedIntrospector extends Introspector {
  /**
   * Ends a token that the server has revoked, by its SHA-256 (base64url). Answers from before count no more, whether
   * shared or in flight.
   */
  revoke(digest: string): void;
  /** Drops the shared answers about tokens, by their SHA-256 (base64url), and those that are in flight. */
  drop(digests: readonly string[]): void;
}

/** Bounds memory; the oldest revocation is forgotten first. */
const MAX_REVOKED = 20_000;
/** Longer than an answer is in flight, or shared by another replica. */
const REVOKED_MS = 60_000;

/**
 * Shares the answers of `server` among replicas. A shared answer is validated like a new one. Only answers about active
 * tokens are shared.
 *
 * @param ask Throws {Denial} if the server gives no answer.
 * @param answers The store that replicas share; undefined: each replica asks for itself.
 */
export function createSharedIntrospection(
  server: AuthorizationServer & { readonly introspection: Introspection },
  ask: (token: string, onBehalfOf: string | undefined) => Promise<IntrospectionAnswer | undefined>,
  hierarchy: ReadonlyMap<string, readonly string[]>,
  answers: SharedAnswers | undefined,
  clock: Clock,
): SharedIntrospector {
  const { cacheMs, response, credentials } = server.introspection;
  // With a reuse of 0 each call has to ask the server.
  const store = cacheMs > 0 && answers !== undefined ? ({ answers, kind: 'introspection' } as const) : undefined;
  // What this process keeps is cached for all servers of a route together.
  const cache = new AnswerCache<IntrospectionOutcome>({ clock, max: 0, store });
  const revoked = createExpiringCache<object>(MAX_REVOKED, clock);
  const prefix = lengthPrefixed([server.issuer, credentials.clientId, response.kind]);
  const keyOf = (digest: string): string => prefix + lengthPrefixed([digest]);

  return {
    async known(token, onBehalfOf) {
      const key = keyOfToken(token);
      return cache.obtain(key, {
        ask: () => askAbout(token, key, onBehalfOf),
        read: (...kept) => reread(key, ...kept),
      });
    },
    async afresh(token, onBehalfOf) {
      const key = keyOfToken(token);
      return cache.renew(key, { ask: () => askAbout(token, key, onBehalfOf) });
    },
    revoke(digest) {
      const key = keyOf(digest);
      revoked.set(key, {}, clock() + REVOKED_MS);
      cache.delete(key);
    },
    drop(digests) {
      cache.dropInFlight();
      for (const digest of digests) cache.delete(keyOf(digest));
    },
  };

  function keyOfToken(token: string): string {
    return keyOf(hash('sha256', token, 'base64url'));
  }

  async function askAbout(token: string, key: string, onBehalfOf: string | undefined) {
    const answer = await ask(token, onBehalfOf);
    if (answer === undefined) return { value: { principal: undefined }, expiresAt: 0 };
    return { ...accepted(answer, key), shared: answer };
  }

  /** A shared answer that still accepts the token. Otherwise the server is asked for the reason. */
  function reread(key: string, answer: unknown, expiresAt: number): Answer<Introspected> | undefined {
    if (!isAnswer(answer) || (response.kind === 'jwt' && answer.jwt === undefined)) return undefined;
    try {
      return accepted(answer, key, expiresAt);
    } catch (error) {
      if (error instanceof Denial) return undefined;
      throw error;
    }
  }

  function accepted(answer: IntrospectionAnswer, key: string, end = Infinity): Answer<Introspected> {
    if (revoked.get(key) !== undefined) throw new Denial('token.inactive', 'the server has revoked it');
    const principal = principalOfAnswer(answer, server, hierarchy, clock);
    const reusableUntil = Math.min(clock() + cacheMs, (principal.expiresAt ?? Infinity) * 1000, end);
    return { value: { principal, reusableUntil }, expiresAt: reusableUntil };
  }
}

/** Another replica, perhaps of another release, may have written the entry. */
function isAnswer(answer: unknown): answer is IntrospectionAnswer {
  if (typeof answer !== 'object' || answer === null) return false;
  const { claims, text, jwt } = answer as { readonly claims?: Claims; readonly text?: unknown; readonly jwt?: unknown };
  const isText = (value: unknown): boolean => value === undefined || typeof value === 'string';
  return typeof claims === 'object' && claims !== null && isText(text) && isText(jwt);
}
