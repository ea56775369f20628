import type { Call } from './call.ts';
import type { Reason } from './denial.ts';
import type { TraceContext } from '../http/trace-context.ts';
import type { Era } from './mcp-methods.ts';
import type { Attempt, Decision } from './policy.ts';
import type { Principal } from './principal.ts';

/**
 * A JSON-RPC request id, or null where the message has none or could not be read. An object is a number that JavaScript
 * cannot hold; JSON.stringify writes it as it was.
 */
export type MessageId = string | number | object | null;

/** What a call attempts, with the body where it had to be read. Exists only once the caller is known. */
export interface Action {
  readonly attempt: Attempt;
  readonly messageId: MessageId;
  /** Which MCP revisions the message is of; undefined where no message was read. */
  readonly era: Era | undefined;
  /** The upstream's own `Mcp-Session-Id`, proved to be this caller's. */
  readonly sessionId: string | undefined;
  /** The upstream's own `Last-Event-ID`, proved to be this caller's in this session. */
  readonly lastEventId: string | undefined;
  /** What the upstream reads in `Mcp-Name`, where the client's is a handle that we bound; undefined: the client's own. */
  readonly mcpName: string | undefined;
  /** The trace that the message names in its `_meta`, where it names one. */
  readonly trace: TraceContext | undefined;
  /** Whether the answer may give out task ids or `requestState`, which are bound to the caller then. */
  readonly mayYieldHandle: boolean;
  /** The only tasks that the answer may make the caller's, by the upstream's ids; undefined: it may create any. */
  readonly tasks: ReadonlySet<string> | undefined;
  /**
   * The bytes that were decided on, to be forwarded as they are, but for handles, which are the upstream's own;
   * undefined: the body was not read and streams.
   */
  readonly body: Buffer | undefined;
}

/** The proof that a call may go on to its upstream. */
export interface Grant {
  /** Undefined on a public route. */
  readonly principal: Principal | undefined;
  readonly action: Action;
  readonly decision: Extract<Decision, { allow: true }>;
}

declare const accessToken: unique symbol;
/** An access token by its bytes: syntactically a token, nothing more. */
export type AccessToken = string & { readonly [accessToken]: true };

/** An access token as a client presented it. */
export interface PresentedToken {
  /** RFC 6750 §2.1, or RFC 9449 §7.1 with a proof of possession beside it. */
  readonly scheme: 'bearer' | 'dpop';
  readonly value: AccessToken;
}

/** The token of a call that goes on after it was allowed: a stream or a WebSocket. */
export interface HeldToken {
  readonly token: PresentedToken;
  /** Asks whether it holds, past every cache, as the newest configuration says. Rejects with a {Denial} where it does not. */
  revalidate(): Promise<unknown>;
}

/** A token that was found to be no good, or no good any more. */
export interface RefusedToken {
  /** By which it is remembered; never the token itself. */
  readonly key: string;
  /** The servers that refused it. Others may know the same string as a token of theirs. */
  readonly issuers: readonly string[];
  readonly reason: Reason;
}

declare const credential: unique symbol;
/** The `Authorization` value that the upstream gets; undefined is none. */
export type UpstreamCredential = (string & { readonly [credential]: true }) | undefined;

/** A call that may go on to its upstream, with everything that forwarding needs. */
export interface GrantedCall {
  readonly call: Call;
  readonly grant: Grant;
  readonly credential: UpstreamCredential;
  /** Undefined on a public route. */
  readonly held: HeldToken | undefined;
}
