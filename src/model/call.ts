import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TraceContext } from '../http/trace-context.ts';
import type { Fields } from './fields.ts';

/** A request and its response in flight: what the listener read, before anything is known about its meaning. */
export interface Call {
  /** `X-Request-Id`: ours, never the client's, so that nobody can forge a line of another request. */
  readonly id: string;
  /** The id of the decision on this call: a refusal's answer, the log and a signed identity carry it. */
  readonly decision: string;
  /** `performance.now()` at arrival. */
  readonly startedAt: number;
  readonly method: string;
  /** The one canonical path: matched, decided on and forwarded. */
  readonly path: string;
  /** `''`, or `?` and what follows, as received. */
  readonly query: string;
  readonly fields: Fields;
  /** The peer's address. */
  readonly peer: string;
  /** The client's address: the peer's, or what a trusted proxy says of it. */
  readonly client: string;
  /** `X-Forwarded-For` of the upstream: the client, the trusted proxies between, the peer. */
  readonly forwardedFor: string;
  /** SHA-256 in base64url of the certificate that the client proved to have, RFC 8705 §3.1; undefined without one. */
  readonly certificateThumbprint: string | undefined;
  /** The trace that it is a part of, and which the upstream is told; undefined where the client names none and we make none. */
  readonly trace: TraceContext | undefined;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}
