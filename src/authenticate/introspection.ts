import { hash } from 'node:crypto';
import { withoutQuery } from '../http/without-query.ts';
import type { Clock } from '../lib/clock.ts';
import { lengthPrefixed } from '../lib/length-prefixed.ts';
import type {
  AuthorizationServer,
  AuthorizationServerClient,
  Introspection,
  ServerAnswer,
} from '../model/authorization-server.ts';
import { Denial, isTokenDenial } from '../model/denial.ts';
import type { Claims, Principal } from '../model/principal.ts';
import type { KeptAnswer, SharedAnswers } from '../model/shared.ts';
import {
  createSignedAnswerReader,
  type IntrospectionAnswer,
  principalOfAnswer,
  signedAnswerTypes,
} from './introspection-answer.ts';
import type { KeySource } from './keys.ts';

/** What an answer says, once it is certain whose it is; undefined: not active. */
type AnswerReader = (
  answer: ServerAnswer,
) => IntrospectionAnswer | undefined | Promise<IntrospectionAnswer | undefined>;

/**
 * Creates the introspection of `client`'s server, RFC 7662.
 *
 * @param keys Of the server, for signed answers.
 * @param answers Where replicas tell each other what it said, if they do.
 * @returns functions that throw {Denial} `authorization_server.unavailable` when it cannot be asked, refuses *us* or
 *   does not sign what it should, `token.*` when its answer says that this is no token for us.
 */
export function createIntrospector(
  client: AuthorizationServerClient,
  keys: KeySource,
  hierarchy: ReadonlyMap<string, readonly string[]>,
  clock: Clock,
  answers?: SharedAnswers,
): Introspector {
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
    // A phantom token that would be of no active token is an empty answer.
    if (isSigned && answer.status === 204) return undefined;
    // RFC 7662 §2.3: a 401 is about our credentials, never about the token.
    if (answer.status !== 200)
      throw unavailable(
        `${withoutQuery(endpoint)} answered ${answer.status}; check introspection.client_id and its secret or key`,
      );
    return await read(answer);
  };
  return createSharedIntrospection({ ...server, introspection }, ask, hierarchy, answers, clock);

  function plainAnswer({ body }: ServerAnswer): IntrospectionAnswer | undefined {
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw unavailable('its introspection did not answer with a JSON object');
    const claims = body as Claims;
    // RFC 7662 §2.2: a boolean. The string "true" is somebody's mistake, and nobody's permission.
    return claims['active'] === true ? { claims } : undefined;
  }

  function unavailable(why: string): Denial {
    return new Denial('authorization_server.unavailable', `${server.name}: ${why}`);
  }
}

/** What a server says of an active token. */
export interface Introspected {
  readonly principal: Principal;
  /** Until when it may be used again; ms since the epoch. */
  readonly reusableUntil: number;
}

/**
 * Explains opaque tokens of one authorization server, for the address of `onBehalfOf` or for ourselves; undefined:
 * not active there. Throws as `createIntrospector` says.
 */
export interface Introspector {
  /** What the server said to any replica a moment ago, or else says now. */
  known(token: string, onBehalfOf?: string): Promise<Introspected | undefined>;
  /** What it says now, whatever it has said. */
  afresh(token: string, onBehalfOf?: string): Promise<Introspected | undefined>;
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
  ask: (token: string, onBehalfOf: string | undefined) => Promise<IntrospectionAnswer | undefined>,
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

  async function askAndShare(
    token: string,
    key: string,
    onBehalfOf: string | undefined,
  ): Promise<Introspected | undefined> {
    try {
      const answer = await ask(token, onBehalfOf);
      const found = answer && introspected(answer);
      if (found === undefined) shared?.delete('introspection', key);
      else shared?.set('introspection', key, answer, found.reusableUntil);
      return found;
    } catch (error) {
      if (isTokenDenial(error)) shared?.delete('introspection', key);
      throw error;
    }
  }

  return {
    async known(token, onBehalfOf) {
      const key = keyOf(token);
      const kept = await shared?.get('introspection', key);
      return (kept && reread(kept)) ?? askAndShare(token, key, onBehalfOf);
    },
    afresh: (token, onBehalfOf) => askAndShare(token, keyOf(token), onBehalfOf),
  };
}

/** A replica wrote it, which may be of another release. */
function isAnswer(answer: unknown): answer is IntrospectionAnswer {
  if (typeof answer !== 'object' || answer === null) return false;
  const { claims, jwt } = answer as { readonly claims?: Claims; readonly jwt?: unknown };
  return typeof claims === 'object' && claims !== null && (jwt === undefined || typeof jwt === 'string');
}
