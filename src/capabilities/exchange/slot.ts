import type { SettingsOf, UpstreamKeys } from '../../../schema/validators.js';
import type { AuthorizationServer, ClientCredentials } from '../../core/model/authorization-server.ts';
import { Slot } from '../../core/model/slot.ts';

/** The server that issues tokens, and the gateway as its client. */
export interface Issuing {
  readonly server: AuthorizationServer;
  readonly credentials: ClientCredentials;
}

/**
 * A token exchange, RFC 8693: `server` issues a new token for the upstream, with the client's token as subject token.
 * The default endpoint is the `token_endpoint` of the server's discovered metadata.
 */
export type TokenExchange = SettingsOf<UpstreamKeys['exchange']> & Issuing;

/** A token for the gateway itself, RFC 6749 §4.4, at most one at a time. */
export type GatewayGrant = SettingsOf<UpstreamKeys['client_credentials']> & Issuing;

/** A token that the gateway gets for the upstream: its own, by an exchange, or with introspection of the caller's. */
export type UpstreamToken =
  | { readonly kind: 'phantom' }
  | { readonly kind: 'client_credentials'; readonly grant: GatewayGrant }
  | { readonly kind: 'exchange'; readonly exchange: TokenExchange };

/** What the upstream of a route gets in place of the caller's token; undefined: nothing, or that token itself. */
export const upstreamToken = new Slot<UpstreamToken>();
