import type { UpstreamKeys } from '../../../schema/validators.js';
import { hasCredentials, noCredentials, readCredentials, serverIn } from '../../core/config/credentials.ts';
import type { Field } from '../../core/config/field.ts';
import { anyText, endpointUrl, resourceUri } from '../../core/config/values.ts';
import type { AuthorizationServer, ClientCredentials } from '../../core/model/authorization-server.ts';
import { Slot } from '../../core/model/slot.ts';
import type { Route } from '../../core/model/route.ts';

/** RFC 8693 §3: `urn:ietf:params:oauth:token-type:access_token` and `…:jwt`. */
export type TokenType = 'access_token' | 'jwt';

/**
 * A token exchange, RFC 8693: `server` issues a new token for the upstream, with the client's token as subject token.
 */
export interface TokenExchange {
  readonly credentials: ClientCredentials;
  readonly server: AuthorizationServer;
  /** Endpoint; undefined: `token_endpoint` of the server's discovered metadata. */
  readonly endpoint: string | undefined;
  /** How it is requested: by RFC 8693, or as Entra ID wants it (RFC 7523 with `requested_token_use`). */
  readonly grant: 'token_exchange' | 'on_behalf_of';
  /** The audience of the new token, RFC 8693 §2.1: names that the server knows. Empty: none is requested. */
  readonly audience: readonly string[];
  /** The same as absolute URIs, RFC 8707 §2. */
  readonly resource: readonly string[];
  /** Requested scopes; empty: the server decides. A grant that lacks one of them is refused. */
  readonly scope: readonly string[];
  /** `subject_token_type`, RFC 8693 §3. */
  readonly subjectTokenType: TokenType;
  /** `requested_token_type`. */
  readonly requestedTokenType: TokenType;
  /** The actor of the exchange: none, or the gateway by a token of its own (client credentials grant). */
  readonly actor: 'none' | 'client_credentials';
}

/** A token for the gateway itself, RFC 6749 §4.4, at most one at a time. */
export type GatewayGrant = Pick<
  TokenExchange,
  'server' | 'credentials' | 'endpoint' | 'audience' | 'resource' | 'scope'
>;

/** A token that the gateway gets for the upstream: its own, by an exchange, or with introspection of the caller's. */
export type UpstreamToken =
  | { readonly kind: 'phantom' }
  | { readonly kind: 'client_credentials'; readonly grant: GatewayGrant }
  | { readonly kind: 'exchange'; readonly exchange: TokenExchange };

/** What the upstream of a route gets in place of the caller's token; undefined: nothing, or that token itself. */
export const upstreamToken = new Slot<UpstreamToken>();

/** `upstream.token`, `upstream.exchange` and `upstream.client_credentials` of a route. */
export function readUpstreamToken(
  upstream: Field<UpstreamKeys | undefined>,
  route: Pick<Route, 'tokens' | 'authorizationServers' | 'public'>,
  servers: ReadonlyMap<string, AuthorizationServer>,
): UpstreamToken | undefined {
  const [token, exchange] = [upstream.get('token'), upstream.get('exchange')];
  const kind = token.choice();
  const own = upstream.get('client_credentials');
  if (kind === 'client_credentials') {
    if (!own.present) token.addProblem('client_credentials needs the key client_credentials beside it');
    const grant = readGrant(own, servers);
    if (exchange.present) exchange.addProblem('applies only with token: exchange', 'key');
    return grant && { kind, grant };
  }
  if (own.present) own.addProblem('applies only with token: client_credentials', 'key');
  // Reported as a contradiction.
  if (route.public) return undefined;
  if (kind !== 'exchange') {
    if (exchange.present) exchange.addProblem('applies only with token: exchange', 'key');
    if (kind !== 'phantom') return undefined;
    requireSignedAnswers(token, route);
    return { kind };
  }
  if (!exchange.present) token.addProblem('exchange needs the key exchange beside it');
  const read = readExchange(exchange, servers);
  return read && { kind, exchange: read };
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
type ExchangeField = Field<UpstreamKeys['exchange']>;
type ClientField = Field<UpstreamKeys['client_credentials'] | UpstreamKeys['exchange']>;

function readGrant(field: Field<UpstreamKeys['client_credentials']>, servers: Servers): GatewayGrant | undefined {
  const server = exchangeServer(field, servers);
  const grant = {
    credentials: readClient(field, server),
    endpoint: field.get('endpoint').read(endpointUrl),
    audience: field.get('audience').list(anyText),
    resource: field.get('resource').list(resourceUri),
    scope: field.get('scope').list(anyText),
  };
  return server && { ...grant, server };
}

function readExchange(field: ExchangeField, servers: Servers): TokenExchange | undefined {
  const server = exchangeServer(field, servers);
  const grant = field.get('grant').choice();
  if (grant === 'on_behalf_of') requireOnBehalfOf(field);
  const exchange = {
    grant,
    credentials: readClient(field, server),
    endpoint: field.get('endpoint').read(endpointUrl),
    audience: field.get('audience').list(anyText),
    resource: field.get('resource').list(resourceUri),
    scope: field.get('scope').list(anyText),
    subjectTokenType: field.get('subject_token_type').choice(),
    requestedTokenType: field.get('token_type').choice(),
    actor: field.get('actor').choice(),
  } as const;
  // A missing server was reported: the result is then not to be used.
  return server && { ...exchange, server };
}

/** The parameters of the grant that Entra ID has in place of RFC 8693. */
function requireOnBehalfOf(field: ExchangeField): void {
  for (const key of ['audience', 'resource', 'actor', 'token_type', 'subject_token_type'] as const) {
    if (field.get(key).present) field.get(key).addProblem('does not apply with grant: on_behalf_of', 'key');
  }
  if (!field.get('scope').present) field.addProblem('missing key: scope (grant is on_behalf_of)');
}

/** The client of the block, or else that of the server's introspection, but never a mixture of the two. */
function readClient(field: ClientField, server: AuthorizationServer | undefined): TokenExchange['credentials'] {
  const method = field.get('client_auth');
  if (hasCredentials(field)) {
    if (!field.get('client_id').present) field.addProblem('missing key: client_id');
    return readCredentials(field, method.choice());
  }
  const fallback = server?.introspection?.credentials;
  if (fallback !== undefined)
    return readCredentials(field, method.present ? method.choice() : fallback.clientAuth, fallback);
  if (field.present && server !== undefined) {
    field.addProblem(`missing keys: client_id, client_secret (${server.name} has no introspection to take them from)`);
  }
  return noCredentials;
}

function exchangeServer(field: ClientField, servers: Servers): AuthorizationServer | undefined {
  const server = field.get('server');
  if (server.present) return server.read(serverIn(servers));
  const [only, ...others] = servers.values();
  if (field.present && (only === undefined || others.length > 0)) {
    field.addProblem('missing key: server (there is not exactly one in authorization_servers)');
  }
  return only;
}
