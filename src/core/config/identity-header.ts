import { hopByHop } from '../lib/http/header-fields.ts';
import { isNeverFromClients, namesUser, plainFieldName } from '../model/client-fields.ts';

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
export function identityHeader(key: string): { readonly name: string; readonly fault: string | undefined } {
  const name = key.toLowerCase();
  const plain = plainFieldName(name);
  const taken =
    reserved.has(plain) ||
    reservedPrefixes.some((prefix) => plain.startsWith(prefix)) ||
    (isNeverFromClients(plain) && !namesUser(plain));
  return { name, fault: taken ? 'is reserved; choose a header name such as x-auth-subject' : undefined };
}

/** Why a header name in lower case cannot be one of the gateway's own fields for an upstream; undefined: it can be. */
export function ownFieldFault(name: string, token: string): string | undefined {
  if (plainFieldName(name) === 'authorization') {
    if (name !== 'authorization') return 'is another spelling of Authorization; write Authorization';
    return token === 'none' ? undefined : `cannot be combined with token: ${token}, which sends it`;
  }
  const { fault } = identityHeader(name);
  return fault && 'is reserved: the gateway sends or removes it; choose a header name such as x-api-key';
}
