import type { ClientMetadata, Client } from 'oidc-provider';
import { type FrontDoor, WORKLOAD_PREFIX } from '../ports/front-door.ts';
import { loopbackHosts } from '../core/lib/ip-address.ts';
import {
  applicationType,
  APPROVAL_CLIENT,
  deviceGrant,
  GATEWAY_CLIENT,
  isDocumentId,
  jwtBearerGrant,
} from './client-policy.ts';
import type { ScopeRules } from './scope-rules.ts';
import { texts } from './texts.ts';

/** The clients that need no registration: those of the operator, and the gateway, which only introspects. */
export function registeredClients(
  frontDoor: FrontDoor,
  scopes: ScopeRules,
  hasApprovals: boolean,
): readonly ClientMetadata[] {
  const asserting = new Set([...frontDoor.assertions.values()].flatMap(({ clients }) => clients));
  const own = [...frontDoor.clients.registered].map(([id, client]): ClientMetadata => {
    // Of `:*` oidc-provider ignores every port of a loopback address.
    const redirectUris = client.redirectUris.map((uri) => uri.replace(/^(http:\/\/[^/]*):\*/, '$1'));
    return {
      client_id: id,
      client_name: client.name,
      client_secret: client.secret,
      // oidc-provider takes the same secret in the header and in the body.
      token_endpoint_auth_method: client.clientAuth,
      jwks_uri: client.jwksUri,
      application_type: applicationType(redirectUris),
      redirect_uris: redirectUris,
      grant_types: [
        ...[...client.grants].map((grant) => (grant === 'device_code' ? deviceGrant : grant)),
        ...(asserting.has(id) ? [jwtBearerGrant] : []),
      ],
      response_types: client.grants.has('authorization_code') ? ['code'] : [],
      scope: `openid ${scopes.all}`,
    };
  });
  const page: ClientMetadata = {
    client_id: APPROVAL_CLIENT,
    client_name: texts.approval.title,
    token_endpoint_auth_method: 'none',
    application_type: applicationType([frontDoor.issuer]),
    redirect_uris: [`${frontDoor.issuer}/approval`],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    scope: `openid ${scopes.all}`,
  };
  // The first one stands for a workload before its token is read.
  const workloads = frontDoor.workloads.size === 0 ? [] : ['', ...frontDoor.workloads.keys()];
  return [
    ...own,
    ...workloads.map((name): ClientMetadata => ({
      client_id: WORKLOAD_PREFIX + name,
      token_endpoint_auth_method: 'none',
      grant_types: [jwtBearerGrant],
      response_types: [],
      redirect_uris: [],
    })),
    ...(hasApprovals ? [page] : []),
    {
      client_id: GATEWAY_CLIENT,
      client_secret: frontDoor.gatewaySecret,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: [],
      response_types: [],
      redirect_uris: [],
    },
  ];
}

/** The facts about a client, for the consent page. */
export interface ClientFacts {
  readonly name: string;
  /** Who vouches for the name: the operator, or only the client itself. */
  readonly isNameVerified: boolean;
  /** The host that published its metadata document, which the front door has verified. */
  readonly documentHost: string | undefined;
  /** Where the code goes: a host, this computer, or an app; a device gets none. */
  readonly returnsTo: { readonly kind: 'host' | 'loopback' | 'app' | 'device'; readonly host: string };
}

/**
 * Collects what the consent page says of a client.
 *
 * @param redirectUri Undefined for a device.
 */
export function clientFacts(client: Client, redirectUri: string | undefined): ClientFacts {
  const { clientId } = client;
  return {
    name: client.clientName ?? clientId,
    isNameVerified: isRegistered(client),
    documentHost: isDocumentId(clientId) ? new URL(clientId).host : undefined,
    returnsTo: redirectUri === undefined ? { kind: 'device', host: '' } : returnsTo(redirectUri),
  };
}

/** Whether the operator registered a client. */
export function isRegistered(client: Client): boolean {
  return Reflect.get(client, 'noManage') === true;
}

/**
 * Whether consent to a client may be remembered: only if no other program can receive its codes. Any program can listen
 * on loopback or claim a private scheme, and a metadata document may change.
 */
export function isRemembered(client: Client | undefined, redirectUri: unknown): boolean {
  if (client?.clientId === APPROVAL_CLIENT) return true;
  if (client === undefined || typeof redirectUri !== 'string' || isDocumentId(client.clientId)) return false;
  return returnsTo(redirectUri).kind === 'host';
}

function returnsTo(redirectUri: string): ClientFacts['returnsTo'] {
  const { protocol, hostname, host } = new URL(redirectUri);
  if (protocol !== 'https:' && protocol !== 'http:') return { kind: 'app', host: protocol.replace(/:$/, '') };
  return { kind: loopbackHosts.includes(hostname) ? 'loopback' : 'host', host };
}
