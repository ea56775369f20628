import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TraceContext } from '../lib/http/trace.ts';
import type { Fields } from './fields.ts';

/** A request and its response in flight, as the listener read it. */
export interface Call {
  /**
   * `X-Request-Id`: the one of a trusted proxy, else {@link decision}. A client could use an id of its own to imitate
   * the log lines of another request.
   */
  readonly id: string;
  /** The id of the decision on this call, in the answer to a refusal, the log and a signed identity. */
  readonly decision: string;
  /** `performance.now()` at arrival. */
  readonly startedAt: number;
  readonly method: string;
  /** The canonical path, which the gateway matches, decides on and forwards. */
  readonly path: string;
  /** `''`, or `?` and the rest, as received. */
  readonly query: string;
  readonly fields: Fields;
  /** The peer's address. */
  readonly peer: string;
  /** The client's address: that of the peer, or the one that a trusted proxy reports. */
  readonly client: string;
  /** `X-Forwarded-For` of the upstream: the client, the trusted proxies between, the peer. */
  readonly forwardedFor: string;
  /** SHA-256 in base64url of the certificate that the client proved to hold, RFC 8705 §3.1; undefined without one. */
  readonly certificateThumbprint: string | undefined;
  /** The trace of the call, which the upstream gets too; undefined if neither the client nor the gateway began one. */
  readonly trace: TraceContext | undefined;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}
