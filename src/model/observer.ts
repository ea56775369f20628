import type { Route } from './route.ts';

/** Observes forwarding; times are in milliseconds. */
export interface ForwardObserver {
  /** The upstream sent its header section, `ms` after the request was sent. */
  upstreamAnswered(route: Route, ms: number): void;
  streamOpened(route: Route): void;
  streamClosed(route: Route): void;
}

/** Observes the locks of routes. */
export interface LockObserver {
  /** How many definitions of the route differ from its lock; undefined: it has no lock any more. */
  differing(route: string, count: number | undefined): void;
  event(level: 'info' | 'warn', msg: string, fields: Readonly<Record<string, unknown>>): void;
}

/** Observes a TLS listener. */
export interface TlsObserver {
  /** The listener presents another certificate from now on. */
  certificateInForce(expiresAt: Date): void;
  /** The changed files of the certificate cannot be used; the previous certificate stays in force. */
  certificateRefused(detail: string): void;
  /** A handshake failed. `peer`: its address, if it is still known. */
  handshakeFailed(detail: string, peer: string | undefined): void;
  /** The certificate of a client failed verification. The gateway treats the client as one without a certificate. */
  clientCertificateRefused(detail: string, peer: string | undefined): void;
}

/** What became of an event of a source. */
export type RevocationResult = 'kept' | 'repeated' | 'not_understood' | 'refused';

/** Observes revocations. */
export interface RevocationObserver {
  counted(source: string, event: string, result: RevocationResult): void;
  /** Whether events of a source arrive; undefined: another replica sees to it. */
  sourceUp(source: string, up: boolean | undefined): void;
  event(level: 'info' | 'warn' | 'error', msg: string, fields: Readonly<Record<string, unknown>>): void;
}
