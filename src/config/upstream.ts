import type { AuthorizationServer } from '../model/authorization-server.ts';
import type { TokenExchange, Upstream, UpstreamToken } from '../model/route.ts';
import { readCredentials, serverIn } from './authorization-servers.ts';
import type { Field } from './field.ts';
import { identityHeader } from './identity-header.ts';
import { endpointUrl, resourceUri, upstreamUrl } from './urls.ts';
import { anyText, duration, oneOf, scopeToken } from './values.ts';

/** `upstream` of a route. */
export function readUpstream(
  field: Field,
  protocol: 'http' | 'mcp' | undefined,
  servers: ReadonlyMap<string, AuthorizationServer>,
): Upstream {
  const { origin, path } = field.get('url').read(upstreamUrl) ?? { origin: '', path: '' };
  const timeouts = field.get('timeouts');
  return {
    origin,
    path,
    identity: readIdentity(field.get('identity')),
    signedIdentity: undefined,
    token: readToken(field, protocol, servers),
    connectTimeoutMs: timeouts.get('connect').read(duration('1ms')) ?? 5000,
    responseTimeoutMs: timeouts.get('response').read(duration('1ms')) ?? 60_000,
  };
}

function readIdentity(field: Field): ReadonlyMap<string, string> {
  const identity = new Map<string, string>();
  const spelt = new Map<string, string>();
  for (const [key, claim] of field.entries()) {
    const { name, fault } = identityHeader(key);
    if (fault !== undefined) claim.refuse(fault, 'key');
    // Many servers read `-` and `_` as one: two headers would be one there, and the last one would count.
    const alike = spelt.get(name.replaceAll('_', '-'));
    if (alike !== undefined) claim.refuse(`is the same header as ${alike}`, 'key');
    spelt.set(name.replaceAll('_', '-'), key);
    identity.set(name, claim.text() ?? '');
  }
  return identity;
}

function readToken(
  field: Field,
  protocol: 'http' | 'mcp' | undefined,
  servers: ReadonlyMap<string, AuthorizationServer>,
): UpstreamToken {
  const token = field.get('token');
  const kind = token.read(oneOf('none', 'forward', 'exchange')) ?? 'none';
  const exchange = field.get('exchange');
  if (exchange.present && kind !== 'exchange') exchange.refuse('goes with token: exchange only', 'key');
  switch (kind) {
    case 'none':
      return { kind };
    case 'forward':
      // MCP, security best practices: a token that was issued for us says nothing to another server (token passthrough).
      if (protocol === 'mcp') token.refuse('forward is not for mcp: the token was issued for this gateway alone');
      return { kind };
    case 'exchange':
      if (!exchange.present) token.refuse('exchange needs an exchange: block beside it');
      return { kind, exchange: readExchange(exchange, servers) };
    default:
      throw new TypeError(`${String(kind satisfies never)} is not a kind of token`);
  }
}

function readExchange(field: Field, servers: ReadonlyMap<string, AuthorizationServer>): TokenExchange {
  const server = exchangeServer(field, servers);
  const [id, secret] = [field.get('client_id'), field.get('client_secret')];
  // Half of another client's credentials would never work.
  if (id.present !== secret.present) field.refuse(`missing key: ${id.present ? 'client_secret' : 'client_id'}`);
  const own = id.present || secret.present;
  if (field.present && !own && server !== undefined && server.introspection === undefined) {
    field.refuse(`missing keys: client_id, client_secret (${server.name} has no introspection to take them from)`);
  }
  return {
    credentials: readCredentials(field, own ? undefined : server?.introspection?.credentials),
    subjectTokenType: 'access_token',
    requestedTokenType: 'access_token',
    actor: 'none',
    server: server ?? nowhere,
    endpoint: field.get('endpoint').read(endpointUrl),
    audience: field.get('audience').read(anyText),
    resource: field.get('resource').read(resourceUri),
    scope: field.get('scope').list(scopeToken),
  };
}

/** Stands for a server that was reported missing. */
const nowhere: AuthorizationServer = {
  name: '',
  issuer: '',
  backchannel: '',
  jwt: undefined,
  introspection: undefined,
  clockToleranceMs: 0,
  timeoutMs: 0,
  staleMs: 0,
};

function exchangeServer(
  field: Field,
  servers: ReadonlyMap<string, AuthorizationServer>,
): AuthorizationServer | undefined {
  const server = field.get('server');
  if (server.present) return server.read(serverIn(servers));
  const [only, ...others] = servers.values();
  if (field.present && (only === undefined || others.length > 0)) {
    field.refuse('missing key: server (not exactly one authorization server is defined)');
  }
  return only;
}
