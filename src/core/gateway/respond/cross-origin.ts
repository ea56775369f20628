import type { Call } from '../../model/call.ts';
import { answer } from './answer.ts';

/** The headers that a page may read besides the safelisted ones: those that an MCP client needs. */
const exposed =
  'WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, DPoP-Nonce, ' +
  'Retry-After, RateLimit, RateLimit-Policy, X-Request-Id';
/** The headers that an MCP client sends. Others, such as `Mcp-Param-*`, are allowed as requested. */
const requestable =
  'Authorization, Content-Type, Accept, MCP-Protocol-Version, ' +
  'Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID, DPoP';
const alwaysRequestable: ReadonlySet<string> = new Set(requestable.toLowerCase().split(', '));
const fieldName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const DAY_SECONDS = '86400';

/** The CORS headers for pages of other origins. `listen/allow.ts` decides which origins may call. */
export interface CrossOrigin {
  /** The headers of an answer to an allowed origin; none for any other call. */
  readonly headers: (call: Call) => Readonly<Record<string, string>>;
  /** Answers a preflight request, which browsers send without a token; false for any other call. */
  readonly preflight: (call: Call, methods: ReadonlySet<string> | undefined) => boolean;
}

/** Creates CORS (Fetch §3.2) for the origins that `isAllowed`. Credentials are tokens, never cookies. */
export function createCrossOrigin(isAllowed: (origin: string) => boolean): CrossOrigin {
  function headers({ fields: { origin } }: Call): Record<string, string> {
    if (origin === undefined || !isAllowed(origin)) return {};
    return { 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': exposed, Vary: 'Origin' };
  }

  return {
    headers,
    preflight(call, methods) {
      const { origin, accessControlRequestMethod: wanted, accessControlRequestHeaders } = call.fields;
      if (call.method !== 'OPTIONS' || origin === undefined || wanted === undefined) return false;
      answer(call, 204, {
        ...headers(call),
        'Access-Control-Allow-Methods': methods === undefined ? wanted : [...methods].join(', '),
        'Access-Control-Allow-Headers': allowedHeaders(accessControlRequestHeaders),
        'Access-Control-Max-Age': DAY_SECONDS,
        Vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
      });
      return true;
    },
  };
}

function allowedHeaders(requested: string | undefined): string {
  const names = (requested ?? '').split(',').map((name) => name.trim());
  const more = names.filter((name) => fieldName.test(name) && !alwaysRequestable.has(name.toLowerCase()));
  return [requestable, ...more].join(', ');
}
