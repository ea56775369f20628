import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TraceContext } from '../http/trace-context.ts';

/** The header section of a request, read once. Fields that decide something stand alone; they came at most once. */
export interface Fields {
  /** name, value, name, value, … as received. */
  readonly raw: readonly string[];
  /** The lower-cased names; `names[i]` is the name of `raw[2 * i]`. */
  readonly names: readonly string[];
  readonly authorization: string | undefined;
  readonly connection: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly contentLength: string | undefined;
  readonly contentType: string | undefined;
  readonly dpop: string | undefined;
  readonly host: string | undefined;
  readonly lastEventId: string | undefined;
  readonly mcpMethod: string | undefined;
  readonly mcpName: string | undefined;
  readonly mcpProtocolVersion: string | undefined;
  readonly mcpSessionId: string | undefined;
  readonly origin: string | undefined;
  readonly transferEncoding: string | undefined;
  readonly upgrade: string | undefined;
}

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
