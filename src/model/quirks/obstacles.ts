import type { ClientQuirks } from './clients.ts';
import type { ServerTraits } from './providers.ts';

/** What one client meets at one authorization server. */
export interface Encounter {
  readonly client: ClientQuirks;
  readonly server: ServerTraits;
  /** Whether the gateway leads `/authorize`, `/token` and `/register` of its origin to the server. */
  readonly endpointsAtRoot: boolean;
}

/** What stops a client at an authorization server, and what to change. */
export interface Obstacle {
  /** The step at which the client stops. */
  readonly at: 'discovery' | 'authorization' | 'step-up';
  /** In a few words, for tables. */
  readonly cause: string;
  readonly text: string;
  readonly remedy: string;
}

const frontDoor = 'let the route trust the front door';

/** The obstacles that are known, in the order in which a client meets them. */
const obstacles: readonly (Obstacle & { readonly stops: (encounter: Encounter) => boolean })[] = [
  {
    at: 'discovery',
    cause: 'issuer with a path',
    text: 'it looks for metadata only at the bare well-known path, and the issuer has a path',
    remedy: frontDoor,
    stops: ({ client, server }) => client.serverMetadata === 'at the origin' && server.metadataBelowPath,
  },
  {
    at: 'discovery',
    cause: 'PKCE not listed',
    text: 'it refuses metadata without code_challenge_methods_supported',
    remedy: frontDoor,
    stops: ({ client, server, endpointsAtRoot }) =>
      client.wantsPkceListed === true && !server.listsPkce && !(client.fallsBackToRoot === true && endpointsAtRoot),
  },
  {
    at: 'discovery',
    cause: 'endpoint at another origin',
    text: 'it refuses an authorization endpoint on another origin than the issuer without iss',
    remedy: frontDoor,
    stops: ({ client, server }) => client.wantsIss === true && server.endpointElsewhere,
  },
  {
    at: 'authorization',
    cause: 'origin as `resource`',
    text: 'it sends the origin as resource, and the server takes only the identifier of the API',
    remedy: frontDoor,
    stops: ({ client, server }) => client.resource === 'origin' && server.resource === 'own',
  },
  {
    at: 'authorization',
    cause: 'no scope',
    text: 'it sends no scope, and the server wants one',
    remedy: frontDoor,
    stops: ({ client, server }) => client.scope === 'none' && server.wantsScope,
  },
  {
    at: 'step-up',
    cause: 'no step-up',
    text: 'it does not ask for the scope of a 403',
    remedy: 'list every scope in resource.scopes_supported, and set first_challenge: supported',
    stops: ({ client }) => client.stepUp === 'no',
  },
];

/** The obstacles of an encounter, in the order in which the client meets them. */
export function obstaclesOf(encounter: Encounter): readonly Obstacle[] {
  return obstacles.filter(({ stops }) => stops(encounter));
}
