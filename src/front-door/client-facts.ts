import type { Client } from 'oidc-provider';
import { isDocumentId } from './client-policy.ts';
import { loopbackHosts } from '../lib/ip-address.ts';

/** The client by which people sign in for the page of approvals, and whose tokens decide. It never gets a code. */
export const APPROVAL_CLIENT = 'approvals';

/** What is known of a client, for the consent page. */
export interface ClientFacts {
  readonly name: string;
  /** Who vouches for the name: the operator, or only the client itself. */
  readonly isNameVerified: boolean;
  /** The host that published its metadata document, which the front door has verified. */
  readonly documentHost: string | undefined;
  /** Where the code goes: a host, this computer, or an app. */
  readonly returnsTo: { readonly kind: 'host' | 'loopback' | 'app'; readonly host: string };
}

/** Collects what the consent page says of a client. */
export function clientFacts(client: Client, redirectUri: string): ClientFacts {
  const { clientId } = client;
  const isOperators = Reflect.get(client, 'noManage') === true;
  return {
    name: client.clientName ?? clientId,
    isNameVerified: isOperators,
    documentHost: isDocumentId(clientId) ? new URL(clientId).host : undefined,
    returnsTo: returnsTo(redirectUri),
  };
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
