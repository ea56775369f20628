import type { Route } from './route.ts';

/** What forwarding reports while it happens; milliseconds. */
export interface ForwardObserver {
  /** The upstream's header section has come, `ms` after the request was sent. */
  upstreamAnswered(route: Route, ms: number): void;
  streamOpened(route: Route): void;
  streamClosed(route: Route): void;
}

/** What a TLS listener reports. */
export interface TlsObserver {
  /** A certificate of ours is shown from now on. */
  certificateInForce(expiresAt: Date): void;
  /** The files of our certificate have changed, and cannot be used as they are: the one before stays. */
  certificateRefused(detail: string): void;
  /** A handshake came to nothing. `peer`: its address, while it is known. */
  handshakeFailed(detail: string, peer: string | undefined): void;
  /** A client's certificate does not verify, and counts as none. */
  clientCertificateRefused(detail: string, peer: string | undefined): void;
}
