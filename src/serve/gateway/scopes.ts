import type { Authenticators } from '../../pipeline/authenticate/authenticator.ts';
import type { Nonces } from '../../pipeline/authenticate/possession.ts';
import type { CredentialSources } from '../../pipeline/exchange/credential-source.ts';
import type { OpenStream, OpenStreams } from '../../pipeline/forward/open-streams.ts';
import type { Pools } from '../../pipeline/forward/forward.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RotatingKeys } from '../../lib/rotating-keys.ts';
import type { CertificateOf } from '../../pipeline/listen/certificates.ts';
import type { LockedRoutes } from '../../mcp/lock/locked-routes.ts';
import type { OwnerBound } from '../../mcp/bindings.ts';
import type { LazyApprovals } from './approvals.ts';
import type { DecisionPoints } from './decision-points.ts';
import type { ToolHeaders } from '../../mcp/tool-headers.ts';
import type { AuthorizationServerClient } from '../../model/authorization-server.ts';
import type { Call } from '../../model/call.ts';
import type { Events } from '../../model/events.ts';
import type { PresentedToken } from '../../model/grant.ts';
import type { Ledger } from '../../model/ledger.ts';
import type { RateLimiters } from '../../model/limits.ts';
import type { RevocationCheck, RevocationReceiver } from '../../model/revocation.ts';
import type { ReplayMemory } from '../../model/shared.ts';
import type { Gateway } from '../../pipeline/pipeline.ts';
import type { Log } from '../../telemetry/log.ts';

/** What lives as long as the process: connections, caches, counters. */
export interface ProcessScope {
  readonly log: Log;
  readonly events: Events;
  readonly clock: Clock;
  /** The certificate that a client proved to hold, as the listener verifies it. */
  readonly certificateOf: CertificateOf;
  readonly pools: Pools;
  readonly authenticators: Authenticators;
  /** Undefined: the process started without `revocation`. */
  readonly revocation: RevocationAccess | undefined;
  /** Proofs of possession that were used. */
  readonly replays: ReplayMemory;
  readonly credentialSources: CredentialSources;
  readonly streams: OpenStreams;
  /** What the tools of an upstream declare, by its URL. */
  readonly toolHeaders: (upstreamUrl: string) => ToolHeaders;
  readonly locks: Pick<LockedRoutes, 'of'>;
  /**
   * The gateway of the newest configuration. A stream asks it about its token: the configuration that opened the stream
   * may hold secrets that are no longer valid.
   */
  readonly newest: () => Pick<ConfiguredGateway, 'revalidate'>;
}

/** The kept revocations, and the process that keeps them. */
export interface RevocationAccess {
  readonly check: RevocationCheck;
  readonly receive: RevocationReceiver;
}

/** What belongs to one configuration. Clients are kept from the previous one if their settings are equal. */
export interface ConfigScope {
  readonly clients: ReadonlyMap<string, AuthorizationServerClient>;
  readonly limiters: RateLimiters;
  /** What rules over time count. */
  readonly ledger: Ledger;
  /** Undefined: none are configured. */
  readonly approvals: LazyApprovals | undefined;
  readonly decisionPoints: DecisionPoints;
  readonly sessions: OwnerBound;
  /** The nonces that proofs of possession carry, on routes that require one. */
  readonly nonces: Nonces;
  /** The keys that sign identities for upstreams. */
  readonly identityKeys: RotatingKeys;
}

/** The gateway of one configuration. */
export interface ConfiguredGateway extends Gateway {
  /**
   * Lets a stream stay open if this configuration would open it too, for the same caller and to the same upstream.
   *
   * @throws {Denial} for any other stream.
   */
  reconsider(stream: OpenStream): void;
  /**
   * Validates the token of a call in progress again, past every cache, on the route of its path in this configuration.
   *
   * @throws {Denial} where the token is no longer valid.
   */
  revalidate(token: PresentedToken, call: Call): Promise<unknown>;
  /** Decides for proxies, which forward the request themselves. */
  readonly forwardAuth: Gateway;
}
