import type { SignedIdentity, Upstream } from '../../core/model/route.ts';
import type { UpstreamKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { anyText, claimName, reject, upstreamUrl } from '../../core/config/values.ts';
import { hopByHop } from '../../core/lib/http/header-fields.ts';
import { isNeverFromClients, namesUser, plainFieldName } from '../../core/model/fields.ts';

/** `upstream` of a route. */
export function readUpstream(field: Field<UpstreamKeys | undefined>, protocol: 'http' | 'mcp' | undefined): Upstream {
  const { origin, path } = field.get('url').read(upstreamUrl) ?? { origin: '', path: '' };
  const timeouts = field.get('timeouts');
  return {
    origin,
    path,
    ...readIdentity(field.get('identity'), origin + path),
    token: readToken(field.get('token'), protocol),
    allowedCommands: field.get('allow_response_headers').choices(),
    connectTimeoutMs: timeouts.get('connect').duration(),
    responseTimeoutMs: timeouts.get('response').duration(),
  };
}

function readToken(field: Field<UpstreamKeys['token']>, protocol: 'http' | 'mcp' | undefined): string {
  const token = field.choice();
  // MCP security best practices forbid token passthrough: the token was not issued for the upstream.
  if (token === 'forward' && protocol === 'mcp')
    field.addProblem('forward cannot be combined with protocol: mcp: the token was issued only for the gateway');
  return token;
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
