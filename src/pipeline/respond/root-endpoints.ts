import type { OutgoingHttpHeaders } from 'node:http';
import { isLoopbackUrl } from '../../lib/ip-address.ts';
import type { Call } from '../../model/call.ts';
import { type Config, rootEndpoints } from '../../model/config.ts';
import { answer } from './answer.ts';
import { openToAll, type Publish } from './publish.ts';

/**
 * Creates the answers at `/authorize`, `/token` and `/register` of the gateway's origin, which lead to the endpoints of
 * `oauth_endpoints_at_root`. Some clients call them there, whatever the metadata say. The gateway reads no code and no
 * credential: a client sends those to the server itself.
 *
 * @param metadata Fetches the metadata of that server.
 */
export function createRootEndpoints(
  { endpointsAtRoot }: Pick<Config, 'endpointsAtRoot'>,
  metadata: () => Promise<Readonly<Record<string, unknown>>>,
): Publish {
  if (endpointsAtRoot === undefined) return () => false;
  return (call) => {
    const member = rootEndpoints.get(call.path);
    if (member === undefined) return false;
    const isPage = member === 'authorization_endpoint';
    const methods = isPage ? 'GET, HEAD' : 'POST';
    const headers = {
      ...openToAll,
      'Access-Control-Allow-Methods': `${methods}, OPTIONS`,
      // The wildcard of `openToAll` does not stand for this one (Fetch §4.8).
      'Access-Control-Allow-Headers': 'Authorization, *',
      'Cache-Control': 'no-store',
    };
    if (call.method === 'OPTIONS') answer(call, 204, headers);
    else if (!methods.split(', ').includes(call.method))
      answer(call, 405, { ...headers, Allow: `${methods}, OPTIONS` });
    else void lead(call, isPage ? 302 : 307, headers, async () => (await metadata())[member]);
    return true;
  };
}

/** Never rejects. */
async function lead(
  call: Call,
  status: 302 | 307,
  headers: OutgoingHttpHeaders,
  endpoint: () => Promise<unknown>,
): Promise<void> {
  let found: unknown;
  try {
    found = await endpoint();
  } catch {
    answer(call, 503, { ...headers, 'Retry-After': '1' });
    return;
  }
  const location = isEndpoint(found) ? merged(found, call.query) : undefined;
  if (location === undefined) answer(call, 502, headers);
  else answer(call, status, { ...headers, Location: location });
}

/** Whether credentials may go there: over TLS, or on this machine. */
function isEndpoint(url: unknown): url is string {
  if (typeof url !== 'string' || !/^https?:\/\/[!-~]+$/.test(url) || /[\\#]/.test(url)) return false;
  const parsed = URL.parse(url);
  if (parsed === null || parsed.username !== '' || parsed.password !== '') return false;
  return parsed.protocol === 'https:' || isLoopbackUrl(url);
}

/** RFC 6749 §3.1: the query of the endpoint stays. A link must not replace it: parameters of its names are dropped. */
function merged(endpoint: string, query: string): string {
  const mark = endpoint.indexOf('?');
  if (mark === -1) return endpoint + query;
  const own = new URLSearchParams(endpoint.slice(mark));
  const others = [...new URLSearchParams(query)].filter(([name]) => !own.has(name));
  return others.length === 0 ? endpoint : `${endpoint}&${new URLSearchParams(others).toString()}`;
}
