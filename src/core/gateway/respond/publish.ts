import type { OutgoingHttpHeaders } from 'node:http';
import { isAtOrBelow } from '../../lib/http/path-flaw.ts';
import type { Call } from '../../model/call.ts';
import { type Config, rootEndpoints } from '../../model/config.ts';
import { Denial } from '../../model/denial.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import { answer } from './answer.ts';
import { isMetadataPath, metadataDocuments } from './resource-metadata.ts';
import { isLoopbackUrl } from '../../lib/ip-address.ts';

/** Answers a call for a document of the gateway; false for any other call. */
export type Publish = (call: Call) => boolean;

/** Such documents, RFC 9728 §3.2, are public: any page may read them, with any header. */
const openToAll = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '86400',
};

/**
 * Creates the answers with protected resource metadata.
 *
 * @param own The endpoints of the gateway itself.
 * @returns a function that throws {Denial} `route.unknown` for a well-known path without a resource.
 */
export function createPublish(config: Config, own: readonly Endpoint[]): Publish {
  const documents = metadataDocuments(config, own);
  return (call) => {
    const document = documents.get(call.path);
    if (document === undefined && !isMetadataPath(call.path)) return false;
    if (document === undefined) throw new Denial('route.unknown', 'no protected resource with this metadata path');
    sendDocument(call, 'application/json', document);
    return true;
  };
}

/** Answers with a public document. It needs no token, is cacheable and can be read across origins. */
export function sendDocument(call: Call, mediaType: string, document: Buffer): void {
  if (call.method === 'OPTIONS') answer(call, 204, openToAll);
  else if (call.method === 'GET' || call.method === 'HEAD') {
    answer(call, 200, { ...openToAll, 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=300' }, document);
  } else answer(call, 405, { ...openToAll, Allow: 'GET, HEAD, OPTIONS' });
}

/** The well-known parts before the path of an issuer, RFC 8414 §3.1. OpenID's is inserted too by MCP clients. */
const wellKnown = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'] as const;

/**
 * Creates the answers with the metadata of the front door, where its issuer is a path below the public origin: clients
 * look for them at the root of that origin, which is the gateway's.
 *
 * @param metadata Fetches the document from the front door; undefined: there is none.
 */
export function createFrontDoorMetadata(
  { frontDoor, publicUrl, routes }: Pick<Config, 'frontDoor' | 'publicUrl' | 'routes'>,
  metadata: (() => Promise<object>) | undefined,
): Publish {
  const issuer = frontDoor?.issuer;
  if (metadata === undefined || issuer?.startsWith(`${publicUrl}/`) !== true) return () => false;
  // Some clients drop the path of an issuer. What a public route publishes there comes first.
  const isOpen = routes.some(({ public: open, path }) => open && (path === '/' || isAtOrBelow(wellKnown[0], path)));
  const suffix = issuer.slice(publicUrl.length);
  const suffixes = isOpen ? [suffix] : [suffix, ''];
  const paths = new Set(wellKnown.flatMap((part) => suffixes.map((suffix) => part + suffix)));
  return (call) => {
    if (!paths.has(call.path)) return false;
    void send(call, metadata);
    return true;
  };
}

/** Never rejects. */
async function send(call: Call, metadata: () => Promise<object>): Promise<void> {
  let document: Buffer;
  try {
    document = Buffer.from(JSON.stringify(await metadata()));
  } catch {
    answer(call, 503, { 'Access-Control-Allow-Origin': '*', 'Retry-After': '1' });
    return;
  }
  sendDocument(call, 'application/json', document);
}

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
