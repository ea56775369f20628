import { isNeverFromClients, plainName, saysWho } from '../model/client-fields.ts';
import { hopByHop } from '../http/header-fields.ts';

/**
 * What an upstream relies on for framing, routing or trust, or what the gateway itself says or takes away there, besides
 * what no client may send either. A claim in one of these would let whoever chooses its value speak as the gateway.
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

/** A header name of `identity` in lower case, and what speaks against it; its syntax is the schema's to check. */
export function identityHeader(key: string): { readonly name: string; readonly fault: string | undefined } {
  const name = key.toLowerCase();
  const plain = plainName(name);
  const taken =
    reserved.has(plain) ||
    reservedPrefixes.some((prefix) => plain.startsWith(prefix)) ||
    (isNeverFromClients(plain) && !saysWho(plain));
  return { name, fault: taken ? 'is not free to carry a claim; choose a name such as x-auth-subject' : undefined };
}
