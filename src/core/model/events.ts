import type { KnownCall, Outcome } from './outcome.ts';
import type { Route } from './route.ts';
import type { Endpoint } from './endpoint.ts';

/** The events of a process, for its metrics, its log and its console. Each room calls those of its own part. */
export interface Events extends ForwardObserver, StoreObserver, TlsObserver {
  readonly decided: (outcome: Outcome) => void;
  /** A call was answered with `status`, by the upstream or by the gateway. */
  readonly answered: (route: Endpoint | undefined, call: Pick<KnownCall, 'method'>, status: number) => void;
  /** A call that was allowed no longer counts for rules over time, and why. */
  readonly returned: (call: KnownCall, route: Route, why: string) => void;
  /** Entries of a list were withheld from a caller. */
  readonly listed: (call: KnownCall, route: Route, list: ShownList) => void;
  readonly tokenLookup: CountLookup;
  readonly serverCall: CountServerCall;
  /** Lines of the log that could not be written, or not fast enough. */
  readonly linesLost: (output: 'stdout' | 'file', count: number) => void;
  readonly configLoaded: (hash: string) => void;
  /** The newest files are not in force. */
  readonly reloadFailed: () => void;
}

/** What a caller was shown of a list, and what not. */
export interface ShownList {
  readonly method: string | undefined;
  readonly shown: number;
  /** The names of the entries, at most 64, each cut at 128 UTF-16 code units: the upstream chooses them. */
  readonly withheld: readonly string[];
  /** How many more entries were withheld. */
  readonly more: number;
  /** Who withheld some of them. */
  readonly by: readonly string[];
}

/** Counts a look-up of a verified or an exchanged token; `negative`: the token was refused a few seconds ago. */
export type CountLookup = (kind: 'token' | 'exchange', result: 'hit' | 'miss' | 'negative') => void;

/** Counts one call to an authorization server. */
export type CountServerCall = (server: string, operation: ServerOperation, result: ServerCallResult) => void;

/**
 * The result of a call: `ok`; `refused`, a status of 4xx; `error`, no answer or a status that says that the server is
 * unavailable. Not sent: `circuit_open`, and `overloaded` if the queue is full.
 */
type ServerCallResult = 'ok' | 'refused' | 'error' | 'circuit_open' | 'overloaded';

/** The purpose of a call to an authorization server; the label `operation` in metrics. */
export type ServerOperation = 'discovery' | 'jwks' | 'introspection' | 'exchange' | 'client_credentials';

/** Observes forwarding; times are in milliseconds. */
export interface ForwardObserver {
  /** The upstream sent its header section, `ms` after the request was sent. */
  upstreamAnswered(route: Route, ms: number): void;
  streamOpened(route: Route): void;
  streamClosed(route: Route): void;
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

/** The operation on the store; the label `operation` in metrics. */
export type StoreOperation =
  | 'get'
  | 'set'
  | 'delete'
  | 'replay'
  | 'rate'
  | 'history'
  | 'approval'
  | 'publish'
  | 'probe';

/** Its result. `corrupt`: a value that no replica wrote. `away`: not sent, because the store is unavailable. */
export type StoreResult = 'ok' | 'hit' | 'miss' | 'corrupt' | 'error' | 'away';

/** Observes the store. */
export interface StoreObserver {
  /** The store has become available or unavailable; undefined: none is configured. */
  storeUp(up: boolean | undefined): void;
  storeRequest(operation: StoreOperation, result: StoreResult): void;
}
