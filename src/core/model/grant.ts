import type { Call } from './call.ts';
import type { TraceContext } from '../lib/http/trace.ts';
import type { CountedCall } from './history.ts';
import type { Era } from './mcp-method.ts';
import type { Attempt, Decision, McpTarget, Plan } from './policy.ts';
import type { Principal } from './principal.ts';
import type { TokenReason } from './reasons.ts';

/**
 * A JSON-RPC request id, or null if the message has none or could not be read. An object is a number that JavaScript
 * cannot represent; JSON.stringify writes it unchanged.
 */
export type MessageId = string | number | object | null;

/** The call that created a task, as the handle of the task names it. */
export interface TaskOrigin {
  /** The {@link CountedCall.id}; undefined: it was not counted. */
  readonly counted?: string | undefined;
  /** The called tool, on a route where results are judged. */
  readonly tool?: string | undefined;
}

/** The attempt of a call, with the body if the gateway had to read it. Exists only after the caller is known. */
export interface Action {
  readonly attempt: Attempt;
  readonly messageId: MessageId;
  /** Whether keys in the arguments differ in case only: what reads such a key must refuse the call. Default: false. */
  readonly hasArgumentVariants?: boolean;
  /** The MCP revisions that the message belongs to; undefined if the gateway read no message. */
  readonly era: Era | undefined;
  /** The upstream's own `Mcp-Session-Id`, verified to be this caller's. */
  readonly sessionId: string | undefined;
  /** The upstream's own `Last-Event-ID`, verified to be this caller's in this session. */
  readonly lastEventId: string | undefined;
  /** The call whose stream it resumes by that id, on a route where results are judged. */
  readonly resumes?: { readonly messageId: MessageId; readonly tool: string } | undefined;
  /** The `Mcp-Name` for the upstream if the client sent a bound handle; undefined: the client's own value. */
  readonly mcpName: string | undefined;
  /** The trace in the message's `_meta`, if it has one. */
  readonly trace: TraceContext | undefined;
  /** Whether the answer may contain task ids or a `requestState`, which the gateway then binds to the caller. */
  readonly mayYieldHandle: boolean;
  /** The upstream's ids of the only tasks that an answer may bind, with their origin; undefined: it may make any. */
  readonly tasks: ReadonlyMap<string, TaskOrigin> | undefined;
  /** The {@link CountedCall.id} of the round before, if the message continues a counted call by its `requestState`. */
  readonly continues: string | undefined;
  /** Whether the client can send its user to a page, for an answer `input_required`. */
  readonly asksByUrl: boolean;
  /** The bytes that were decided on, forwarded unchanged but for handles; undefined: the body streams unread. */
  readonly body: Buffer | undefined;
}

/** The proof that a call may go on to its upstream. */
export interface Grant {
  /** Undefined on a public route. */
  readonly principal: Principal | undefined;
  readonly action: Action;
  readonly decision: Extract<Decision, { allow: true }> & {
    /** Undefined on a route without a policy. */
    readonly plan: Plan | undefined;
  };
}

/** The parts of a grant that the credential for the upstream depends on. */
export type CallerGrant = Pick<Grant, 'principal'> & { readonly decision: Pick<Grant['decision'], 'plan'> };

declare const accessToken: unique symbol;
/** The text of an access token. It has the syntax of a token; nothing else is verified. */
export type AccessToken = string & { readonly [accessToken]: true };

/** An access token as a client presented it. */
export interface PresentedToken {
  /** RFC 6750 §2.1, or RFC 9449 §7.1 with a proof of possession. */
  readonly scheme: 'bearer' | 'dpop';
  readonly value: AccessToken;
}

/** The token of a call that outlives its decision: a stream or a WebSocket. */
export interface HeldToken {
  readonly token: PresentedToken;
  /** Validates the token again by the newest configuration, past every cache. Rejects with a {Denial} if it fails. */
  revalidate(): Promise<unknown>;
}

/** A token that failed validation, at its first use or later. */
export interface RefusedToken {
  /** The key of the token in caches; never the token itself. */
  readonly key: string;
  /** The servers that refused it. Another server may have issued the same string as a token of its own. */
  readonly issuers: readonly string[];
  /** `gateway.error`: its validity is not known. */
  readonly reason: TokenReason | 'gateway.error';
  /** Whether no server was asked about it, and no cache has it as valid: a caller can make any number of these. */
  readonly isMadeUp: boolean;
}

declare const credential: unique symbol;
/** The `Authorization` value that the gateway sends to the upstream; undefined: none. */
export type UpstreamCredential = (string & { readonly [credential]: true }) | undefined;

/** A call that may go on to its upstream, with everything that forwarding needs. */
export interface GrantedCall {
  readonly call: Call;
  readonly grant: Grant;
  readonly credential: UpstreamCredential;
  /** Undefined on a public route. */
  readonly held: HeldToken | undefined;
  /** Undefined if no rule over time concerns the call. */
  readonly counted: CountedCall | undefined;
}

/** The right of a call in progress. */
export type CallRight = Pick<GrantedCall, 'call' | 'grant' | 'held'>;

/**
 * Asks a decision point which entries of a list the caller may use: one boolean for each, in their order.
 *
 * @throws {Denial} `decision_point.unavailable` without an answer.
 */
export type AskAboutList = (call: Call, grant: Grant, entries: readonly McpTarget[]) => Promise<readonly boolean[]>;
