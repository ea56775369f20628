import type { Clock } from '../lib/clock.ts';
import { withoutQuery } from '../http/without-query.ts';
import type { AuthorizationServerClient, ServerAnswer } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';
import type { Claims } from '../model/principal.ts';
import type { SharedAnswers } from '../model/shared.ts';
import type { IntrospectionAnswer } from './introspection-answer.ts';
import type { KeySource } from './keys.ts';
import { createSharedIntrospection, type Introspector } from './shared-introspection.ts';
import { createSignedAnswerReader, signedAnswerTypes } from './signed-answer.ts';

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

  const ask = async (token: string, asker: string | undefined): Promise<IntrospectionAnswer | undefined> => {
    const endpoint = introspection.endpoint ?? (await client.metadata()).introspectionEndpoint;
    if (endpoint === undefined)
      throw unavailable('its metadata has no introspection_endpoint; set introspection.endpoint');
    const form = new URLSearchParams({ token, token_type_hint: 'access_token' });
    const answer = await client.post('introspection', endpoint, form, credentials, { accept, asker });
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
