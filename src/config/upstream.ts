import type { AuthorizationServer } from '../model/authorization-server.ts';
import type { TokenExchange, Upstream, UpstreamToken } from '../model/route.ts';
import { hasCredentials, noCredentials, readCredentials, serverIn } from './authorization-servers.ts';
import type { UpstreamKeys } from '../../schema/validators.js';
import type { Field } from './field.ts';
import { readIdentity } from './identity.ts';
import { endpointUrl, resourceUri, upstreamUrl } from './urls.ts';
import { anyText } from './values.ts';

/** `upstream` of a route. */
export function readUpstream(
  field: Field<UpstreamKeys | undefined>,
  protocol: 'http' | 'mcp' | undefined,
  servers: ReadonlyMap<string, AuthorizationServer>,
): Upstream {
  const { origin, path } = field.get('url').read(upstreamUrl) ?? { origin: '', path: '' };
  const timeouts = field.get('timeouts');
  return {
    origin,
    path,
    ...readIdentity(field.get('identity'), origin + path),
    token: readToken(field, protocol, servers),
    allowedCommands: field.get('allow_response_headers').choices(),
    connectTimeoutMs: timeouts.get('connect').duration(),
    responseTimeoutMs: timeouts.get('response').duration(),
  };
}

function readToken(
  field: Field<UpstreamKeys | undefined>,
  protocol: 'http' | 'mcp' | undefined,
  servers: ReadonlyMap<string, AuthorizationServer>,
): UpstreamToken {
  const token = field.get('token');
  const kind = token.choice();
  const exchange = field.get('exchange');
  if (exchange.present && kind !== 'exchange') exchange.addProblem('applies only with token: exchange', 'key');
  switch (kind) {
    case 'none':
    case 'phantom':
      return { kind };
    case 'forward':
      // MCP security best practices forbid token passthrough: the token was not issued for the upstream.
      if (protocol === 'mcp')
        token.addProblem('forward cannot be combined with protocol: mcp: the token was issued only for the gateway');
      return { kind };
    case 'exchange':
      if (!exchange.present) token.addProblem('exchange needs the key exchange beside it');
      return readExchange(exchange, servers);
    default:
      throw new TypeError(`${String(kind satisfies never)} is not a kind of token`);
  }
}

type ExchangeField = Field<UpstreamKeys['exchange']>;

function readExchange(field: ExchangeField, servers: ReadonlyMap<string, AuthorizationServer>): UpstreamToken {
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
  return server === undefined ? { kind: 'none' } : { kind: 'exchange', exchange: { ...exchange, server } };
}

/** The parameters of the grant that Entra ID has in place of RFC 8693. */
function requireOnBehalfOf(field: ExchangeField): void {
  for (const key of ['audience', 'resource', 'actor', 'token_type', 'subject_token_type'] as const) {
    if (field.get(key).present) field.get(key).addProblem('does not apply with grant: on_behalf_of', 'key');
  }
  if (!field.get('scope').present) field.addProblem('missing key: scope (grant is on_behalf_of)');
}

/** The client of the block, or else that of the server's introspection, but never a mixture of the two. */
function readClient(field: ExchangeField, server: AuthorizationServer | undefined): TokenExchange['credentials'] {
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

function exchangeServer(
  field: ExchangeField,
  servers: ReadonlyMap<string, AuthorizationServer>,
): AuthorizationServer | undefined {
  const server = field.get('server');
  if (server.present) return server.read(serverIn(servers));
  const [only, ...others] = servers.values();
  if (field.present && (only === undefined || others.length > 0)) {
    field.addProblem('missing key: server (there is not exactly one in authorization_servers)');
  }
  return only;
}
