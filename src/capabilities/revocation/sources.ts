import type { EventSourceKeys, GatewayKeys, SettingsOf } from '../../../schema/validators.js';
import type { Endpoint } from '../../core/model/endpoint.ts';

/** Whose tokens a source may revoke. */
export interface RevocationTarget {
  /** The name of the authorization server, or of the front door's identity provider. */
  readonly name: string;
  /** Every `iss` by which a source names the subjects. */
  readonly issuers: readonly string[];
  /** `iss` of the tokens. */
  readonly tokenIssuer: string;
  /** Whether it is an identity provider: the front door gives its people subjects of their own. */
  readonly isProvider: boolean;
  /** Whether it is a platform, whose workloads have subjects of their own too. */
  readonly isWorkload?: boolean;
}

/** A Shared Signals transmitter, `revocation.events.NAME`. */
export interface EventSource extends Omit<SettingsOf<EventSourceKeys>, 'endpointOrigins'> {
  readonly name: string;
  readonly audience: string;
  /** Those whose people it speaks of first, then the others. */
  readonly targets: readonly RevocationTarget[];
  /** The origins of the endpoints that get the token, that of the issuer among them. */
  readonly endpointOrigins: ReadonlySet<string>;
}

/** `revocation`: whose rights a transmitter or an operator may end, and how long that is remembered. */
export interface RevocationSettings extends SettingsOf<GatewayKeys['revocation']> {
  readonly sources: ReadonlyMap<string, EventSource>;
  /** Global token revocation; undefined: there is no endpoint. */
  readonly endpoint: RevocationEndpoint | undefined;
  /** Whose tokens operators may revoke: those of every authorization server and identity provider. */
  readonly commandTargets: readonly RevocationTarget[];
}

/** The endpoint of global token revocation. */
export interface RevocationEndpoint {
  /** What its callers must show. It has no upstream. */
  readonly route: Endpoint;
  readonly targets: readonly RevocationTarget[];
}
