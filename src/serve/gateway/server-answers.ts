/**
 * @module What the gateway answers at its own origin for authorization servers: the metadata of the front door, and
 * redirects to the endpoints of a server. Loaded with the first configuration that has either.
 */

import type { OutgoingHttpHeaders } from 'node:http';
import { answer } from '../../core/gateway/respond/answer.ts';
import { openToAll, type Publish, sendDocument } from '../../core/gateway/respond/publish.ts';
import { isAtOrBelow } from '../../core/lib/http/path-flaw.ts';
import { isLoopbackUrl } from '../../core/lib/ip-address.ts';
import type { AuthorizationServerClient } from '../../ports/authorization-server-client.ts';
import type { Call } from '../../core/model/call.ts';
import { type Config, rootEndpoints } from '../../ports/config.ts';
import { FRONT_DOOR } from '../../ports/front-door.ts';

/**
 * Creates the answers of a configuration.
 *
 * @param clients By the names of `authorization_servers`.
 */
export function createServerAnswers(
  config: AnsweredConfig,
  clients: ReadonlyMap<string, Pick<AuthorizationServerClient, 'metadata'>>,
): readonly Publish[] {
  const documentOf: DocumentOf = async (name) => {
    const client = clients.get(name);
    if (client === undefined) throw new Error(`no client of the authorization server ${name}`);
    return (await client.metadata()).document;
  };
  return [createFrontDoorMetadata(config, documentOf), createRootEndpoints(config, documentOf)];
}

type AnsweredConfig = Pick<Config, 'frontDoor' | 'publicUrl' | 'routes' | 'endpointsAtRoot'>;
/** The metadata of the server with this name. */
type DocumentOf = (name: string) => Promise<Readonly<Record<string, unknown>>>;

/** The well-known parts before the path of an issuer, RFC 8414 §3.1. OpenID's is inserted too by MCP clients. */
const wellKnown = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'] as const;

/**
 * Creates the answers with the metadata of the front door, where its issuer is a path below the public origin: clients
 * look for them at the root of that origin, which is the gateway's.
 */
function createFrontDoorMetadata({ frontDoor, publicUrl, routes }: AnsweredConfig, documentOf: DocumentOf): Publish {
  const issuer = frontDoor?.issuer;
  if (issuer?.startsWith(`${publicUrl}/`) !== true) return () => false;
  // Some clients drop the path of an issuer. What a public route publishes there comes first.
  const isOpen = routes.some(({ public: open, path }) => open && (path === '/' || isAtOrBelow(wellKnown[0], path)));
  const suffix = issuer.slice(publicUrl.length);
  const suffixes = isOpen ? [suffix] : [suffix, ''];
  const paths = new Set(wellKnown.flatMap((part) => suffixes.map((suffix) => part + suffix)));
  return (call) => {
    if (!paths.has(call.path)) return false;
    void send(call, documentOf);
    return true;
  };
}

/** Never rejects. */
async function send(call: Call, documentOf: DocumentOf): Promise<void> {
  let document: Buffer;
  try {
    document = Buffer.from(JSON.stringify(await documentOf(FRONT_DOOR)));
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
 */
function createRootEndpoints({ endpointsAtRoot }: AnsweredConfig, documentOf: DocumentOf): Publish {
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
    else void lead(call, isPage ? 302 : 307, headers, async () => (await documentOf(endpointsAtRoot.name))[member]);
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
