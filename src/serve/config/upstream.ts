import type { AuthorizationServer } from '../../core/model/authorization-server.ts';
import type { SignedIdentity, TokenExchange, Upstream, UpstreamToken } from '../../core/model/route.ts';
import { serverIn } from '../../core/config/endpoints.ts';
import { hasCredentials, noCredentials, readCredentials } from './authorization-servers.ts';
import type { UpstreamKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { anyText, claimName, endpointUrl, reject, resourceUri, upstreamUrl } from '../../core/config/values.ts';
import { hopByHop } from '../../core/lib/http/header-fields.ts';
import { isNeverFromClients, namesUser, plainFieldName } from '../../core/model/fields.ts';

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

/** The key that does not name a header, but holds the name of one. */
const SIGNED = 'signed';

/**
 * `identity` of an upstream: claims as headers, and the signed statement.
 *
 * @param upstream Its URL without a trailing slash: the default audience of the statement.
 */
function readIdentity(
  field: Field<UpstreamKeys['identity']>,
  upstream: string,
): Pick<Upstream, 'identity' | 'signedIdentity'> {
  const identity = new Map<string, string>();
  const spelt = new Map<string, string>();
  for (const [key, claim] of field.entries()) {
    if (key === SIGNED) continue;
    const { name, fault } = identityHeader(key);
    if (name === SIGNED) claim.addProblem(`is not a header name; write ${SIGNED} for a signed identity`, 'key');
    if (fault !== undefined) claim.addProblem(fault, 'key');
    // Many servers read `-` and `_` alike: they would merge two such headers and use the last one.
    const alike = spelt.get(plainFieldName(name));
    if (alike !== undefined) claim.addProblem(`is the same header as ${alike}`, 'key');
    spelt.set(plainFieldName(name), key);
    identity.set(name, claim.read(claimName) ?? '');
  }
  const signed = field.get(SIGNED);
  return { identity, signedIdentity: signed.present ? readSigned(signed, upstream, spelt) : undefined };
}

/** A header name alone, or a mapping. */
function readSigned(
  field: Field<NonNullable<UpstreamKeys['identity']>['signed']>,
  upstream: string,
  spelt: ReadonlyMap<string, string>,
): SignedIdentity {
  const header = field.get('header').present ? field.get('header') : field;
  return {
    header: header.read((text) => signedHeader(text, spelt)) ?? '',
    audience: field.get('audience').read(anyText) ?? upstream,
    claims: field.get('claims').list(signedClaim),
  };
}

function signedHeader(text: string, spelt: ReadonlyMap<string, string>): string {
  const { name, fault } = identityHeader(text);
  if (fault !== undefined) reject(fault);
  const alike = spelt.get(plainFieldName(name));
  return alike === undefined ? name : reject(`is the same header as ${alike}`);
}

/** Members that the gateway sets in every statement, or that a verifier would interpret itself. */
const own: ReadonlySet<string> = new Set([
  'iss',
  'aud',
  'sub',
  'client_id',
  'scope',
  'token_issuer',
  'jti',
  'iat',
  'exp',
  'nbf',
  'cnf',
]);

function signedClaim(text: string): string {
  if (own.has(text)) reject('is reserved in a signed identity');
  return claimName(text);
}

/**
 * Headers that an upstream relies on for framing, routing or trust, and headers that the gateway sets or removes,
 * besides those that no client may send. A claim in one of them would let the party that chooses its value speak as the
 * gateway.
 */
const reserved: ReadonlySet<string> = new Set([
  ...hopByHop,
  'accept-encoding',
  'cookie',
  'max-forwards',
  'origin',
  'range',
  'referer',
  'traceparent',
  'tracestate',
  'via',
]);

const reservedPrefixes = ['content-', 'mcp-', 'sec-', 'if-', 'access-control-'];

/** A header name of `identity` in lower case, and why it cannot be used, if so. The schema checks its syntax. */
function identityHeader(key: string): { readonly name: string; readonly fault: string | undefined } {
  const name = key.toLowerCase();
  const plain = plainFieldName(name);
  const taken =
    reserved.has(plain) ||
    reservedPrefixes.some((prefix) => plain.startsWith(prefix)) ||
    (isNeverFromClients(plain) && !namesUser(plain));
  return { name, fault: taken ? 'is reserved; choose a header name such as x-auth-subject' : undefined };
}
