import type { Tls } from '../../model/listen.ts';
import { requestedScopes } from '../../model/route.ts';
import type { Endpoint } from '../../model/endpoint.ts';

/** RFC 9728 §3.1: inserted between the host and the path of the resource. */
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** The resources that the gateway publishes, and where. */
export interface PublishedResources {
  readonly routes: readonly Endpoint[];
  readonly publicUrl: string;
  readonly tls: Tls | undefined;
  /** The name of the route whose metadata are at the root too; undefined: that of the only resource. */
  readonly rootResource: string | undefined;
}

/** The URL of the metadata of a route's resource; undefined for a route without one. */
export function metadataUrl(route: Endpoint, publicUrl: string): string | undefined {
  return route.resource === undefined ? undefined : `${publicUrl}${metadataPath(route)}`;
}

/**
 * The metadata documents by their path, RFC 9728 §3, each with and without a trailing slash. If exactly one route has a
 * resource, or if `root_resource` names one, its document is at the bare well-known path too: clients that look there
 * first would take the resource of another route for that of theirs.
 *
 * @param own The endpoints of the gateway itself.
 */
export function metadataDocuments(
  { routes, publicUrl, tls, rootResource }: PublishedResources,
  own: readonly Endpoint[],
): ReadonlyMap<string, Buffer> {
  const documents = new Map<string, Buffer>();
  const resources = routes.filter(isResource);
  for (const route of [...resources, ...own.filter(isResource)]) {
    const document = Buffer.from(JSON.stringify(metadata(route, publicUrl, tls)));
    const path = metadataPath(route);
    documents.set(path, document).set(`${path}/`, document);
    // appended to the base URL, for clients that build it so.
    documents.set((route.path === '/' ? '' : route.path) + WELL_KNOWN, document);
    const isAtRoot = rootResource === undefined ? resources.length === 1 : route.name === rootResource;
    if (isAtRoot && !route.isOwn) documents.set(WELL_KNOWN, document).set(`${WELL_KNOWN}/`, document);
  }
  return documents;
}

function isResource({ resource }: Endpoint): boolean {
  return resource !== undefined;
}

/** Whether a path belongs to the metadata of resources, published or not. */
export function isMetadataPath(path: string): boolean {
  return path.startsWith(WELL_KNOWN) && (path.length === WELL_KNOWN.length || path[WELL_KNOWN.length] === '/');
}

function metadataPath({ path }: Endpoint): string {
  return path === '/' ? WELL_KNOWN : WELL_KNOWN + path;
}

/** RFC 9728 §2. JSON.stringify leaves the undefined ones out. */
function metadata(route: Endpoint, publicUrl: string, tls: PublishedResources['tls']): Record<string, unknown> {
  const { resource, proofs } = route;
  return {
    // Byte for byte the default audience.
    resource: publicUrl + route.path,
    resource_name: resource?.name,
    authorization_servers: route.authorizationServers.map(({ issuer }) => issuer),
    scopes_supported: resource?.scopesSupported && requestedScopes(route, resource.scopesSupported),
    bearer_methods_supported: ['header'],
    resource_documentation: resource?.documentation,
    resource_policy_uri: resource?.policyUri,
    resource_tos_uri: resource?.tosUri,
    // RFC 8705 §3: the gateway asks for client certificates, so a bound token can be used.
    tls_client_certificate_bound_access_tokens: tls?.clientCa === undefined ? undefined : true,
    dpop_signing_alg_values_supported: proofs?.algorithms,
    dpop_bound_access_tokens_required: proofs?.required === true ? true : undefined,
  };
}
