import type { Upstream } from '../../core/model/route.ts';
import type { UpstreamKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { identityHeader } from '../../core/config/identity-header.ts';
import { claimName } from '../../core/config/values.ts';
import { plainFieldName } from '../../core/model/client-fields.ts';

/** `upstream` of a route. */
export function readUpstream(field: Field<UpstreamKeys | undefined>, protocol: 'http' | 'mcp' | undefined): Upstream {
  const { origin, path } = field.get('url').value() ?? { origin: '', path: '' };
  const timeouts = field.get('timeouts');
  return {
    origin,
    path,
    identity: readIdentity(field.get('identity')),
    statements: [],
    ownFields: undefined,
    token: readToken(field.get('token'), protocol),
    allowedCommands: field.get('allow_response_headers').value(),
    keepsLocations: field.get('location').value() === 'keep',
    idleMs: field.get('idle').value(),
    connectionLifetimeMs: field.get('connection_lifetime').value(),
    connectTimeoutMs: timeouts.get('connect').value(),
    responseTimeoutMs: timeouts.get('response').value(),
  };
}

function readToken(field: Field<UpstreamKeys['token']>, protocol: 'http' | 'mcp' | undefined): string {
  const token = field.value();
  // MCP security best practices forbid token passthrough: the token was not issued for the upstream.
  if (token === 'forward' && protocol === 'mcp')
    field.addProblem('forward cannot be combined with protocol: mcp: the token was issued only for the gateway');
  return token;
}

/** The key that does not name a header, but holds the name of one. */
const SIGNED = 'signed';

/** `identity` of an upstream: claims as headers. */
function readIdentity(field: Field<UpstreamKeys['identity']>): Upstream['identity'] {
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
  return identity;
}
