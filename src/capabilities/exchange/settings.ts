import type { UpstreamKeys } from '../../../schema/validators.js';
import { hasCredentials, noCredentials, readCredentials, serverIn } from '../../tokens/servers/settings.ts';
import type { Field } from '../../core/config/field.ts';
import type { AuthorizationServer, ClientCredentials } from '../../core/model/authorization-server.ts';
import type { Route } from '../../core/model/route.ts';
import type { Issuing, UpstreamToken } from './slot.ts';

/** `upstream.token`, `upstream.exchange` and `upstream.client_credentials` of a route. */
export function readUpstreamToken(
  upstream: Field<UpstreamKeys | undefined>,
  route: Pick<Route, 'tokens' | 'authorizationServers' | 'public'>,
  servers: ReadonlyMap<string, AuthorizationServer>,
): UpstreamToken | undefined {
  const token = upstream.get('token');
  const exchange = upstream.get('exchange').given();
  const own = upstream.get('client_credentials').given();
  const kind = token.value();
  if (kind === 'client_credentials') {
    if (own === undefined) token.addProblem('client_credentials needs the key client_credentials beside it');
    exchange?.addProblem('applies only with token: exchange', 'key');
    const issuing = own && readIssuing(own, servers);
    return issuing && { kind, grant: { ...own.settings(), ...issuing } };
  }
  own?.addProblem('applies only with token: client_credentials', 'key');
  // Reported as a contradiction.
  if (route.public) return undefined;
  if (kind !== 'exchange') {
    exchange?.addProblem('applies only with token: exchange', 'key');
    if (kind !== 'phantom') return undefined;
    requireSignedAnswers(token, route);
    return { kind };
  }
  if (exchange === undefined) token.addProblem('exchange needs the key exchange beside it');
  if (exchange?.get('grant').value() === 'on_behalf_of') requireOnBehalfOf(exchange);
  const issuing = exchange && readIssuing(exchange, servers);
  return issuing && { kind, exchange: { ...exchange.settings(), ...issuing } };
}

/**
 * Requires that introspection yields a JWT for every token, because `token: phantom` sends that JWT to the upstream. A
 * JWT that the client presented is not introspected, and is never forwarded; a server may answer in JSON.
 *
 * @param token `upstream.token` of the route.
 */
function requireSignedAnswers(
  token: Field<UpstreamKeys['token']>,
  { tokens, authorizationServers: servers }: Pick<Route, 'tokens' | 'authorizationServers'>,
): void {
  if (servers.length === 0) return;
  if (tokens.has('jwt')) {
    token.addProblem('phantom is only for opaque tokens: set tokens: [opaque] on the route');
  }
  const introspecting = servers.filter((server) => server.introspection !== undefined);
  const plain = introspecting.filter((server) => server.introspection?.response.kind !== 'jwt').map(({ name }) => name);
  if (introspecting.length === 0)
    token.addProblem('phantom needs an authorization server with introspection and response: jwt');
  if (plain.length > 0) token.addProblem(`phantom needs introspection.response: jwt of ${plain.join(' and ')}`);
}

type Servers = ReadonlyMap<string, AuthorizationServer>;
type ExchangeField = Field<NonNullable<UpstreamKeys['exchange']>>;
type ClientField = Field<NonNullable<UpstreamKeys['client_credentials'] | UpstreamKeys['exchange']>>;

/** Undefined if the server is missing, which was reported. */
function readIssuing(field: ClientField, servers: Servers): Issuing | undefined {
  const server = exchangeServer(field, servers);
  const credentials = readClient(field, server);
  return server && { server, credentials };
}

/** The parameters of the grant that Entra ID has in place of RFC 8693. */
function requireOnBehalfOf(field: ExchangeField): void {
  for (const key of ['audience', 'resource', 'actor', 'token_type', 'subject_token_type'] as const) {
    if (field.get(key).present) field.get(key).addProblem('does not apply with grant: on_behalf_of', 'key');
  }
  if (!field.get('scope').present) field.addProblem('missing key: scope (grant is on_behalf_of)');
}

/** The client of the block, or else that of the server's introspection, but never a mixture of the two. */
function readClient(field: ClientField, server: AuthorizationServer | undefined): ClientCredentials {
  const method = field.get('client_auth');
  if (hasCredentials(field)) {
    if (!field.get('client_id').present) field.addProblem('missing key: client_id');
    return readCredentials(field, method.value());
  }
  const fallback = server?.introspection?.credentials;
  if (fallback !== undefined)
    return readCredentials(field, method.present ? method.value() : fallback.clientAuth, fallback);
  if (server !== undefined)
    field.addProblem(`missing keys: client_id, client_secret (${server.name} has no introspection to take them from)`);
  return noCredentials;
}

function exchangeServer(field: ClientField, servers: Servers): AuthorizationServer | undefined {
  const server = field.get('server');
  if (server.present) return server.read(serverIn(servers));
  const [only, ...others] = servers.values();
  if (only === undefined || others.length > 0)
    field.addProblem('missing key: server (there is not exactly one in authorization_servers)');
  return only;
}
