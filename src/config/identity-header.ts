import { hopByHop } from '../lib/hop-by-hop.ts';

/**
 * What an upstream relies on for framing, routing or trust, or what the gateway itself says or takes away there. A claim
 * in one of these would let whoever chooses its value speak as the gateway.
 */
const reserved: ReadonlySet<string> = new Set([
  ...hopByHop,
  // Where a request goes and what is in it.
  'host',
  'expect',
  'range',
  'via',
  'max-forwards',
  // Who calls, by other means.
  'authorization',
  'cookie',
  'forwarded',
  'origin',
  'referer',
  'x-request-id',
  'x-real-ip',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'traceparent',
  'tracestate',
]);

const reservedPrefixes = ['content-', 'x-forwarded-', 'x-original-', 'mcp-', 'sec-', 'if-', 'access-control-'];

/** A header name of `identity` in lower case, and what speaks against it; its syntax is the schema's to check. */
export function identityHeader(key: string): { readonly name: string; readonly fault: string | undefined } {
  const name = key.toLowerCase();
  const hyphenated = name.replaceAll('_', '-');
  const taken = reserved.has(hyphenated) || reservedPrefixes.some((prefix) => hyphenated.startsWith(prefix));
  return { name, fault: taken ? 'is not free to carry a claim; choose a name such as x-auth-subject' : undefined };
}
