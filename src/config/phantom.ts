import type { AuthorizationServer } from '../model/authorization-server.ts';
import type { TokenForm } from '../model/principal.ts';
import type { Field } from './field.ts';

/**
 * Refuses `token: phantom` where a call could be allowed without a JWT from introspection to send on: of a JWT that the
 * client itself presented there is none (and the client's own token goes nowhere), nor of a server that answers in JSON.
 *
 * @param token `upstream.token` of the route.
 */
export function requireSignedAnswers(
  token: Field,
  forms: ReadonlySet<TokenForm>,
  servers: readonly AuthorizationServer[],
): void {
  if (servers.length === 0) return;
  if (forms.has('jwt')) {
    token.refuse(
      'phantom is for opaque tokens: there is no other JWT for one that is a JWT already; write tokens: [opaque]',
    );
  }
  const asked = servers.filter((server) => server.introspection !== undefined);
  const plain = asked.filter((server) => server.introspection?.response.kind !== 'jwt').map(({ name }) => name);
  if (asked.length === 0) token.refuse('phantom needs introspection, with response: jwt, in the authorization server');
  if (plain.length > 0) token.refuse(`phantom needs introspection.response: jwt of ${plain.join(' and ')}`);
}
