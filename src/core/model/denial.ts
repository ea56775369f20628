import { type PolicyReason, type Reason, refusalOf, type TokenReason } from './reasons.ts';
import type { NamedRefusal } from './refusal.ts';

/** A request, for the caller. */
export interface ApprovalReference {
  readonly id: string;
  /** Of the page or the API. */
  readonly url: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** For a client that can open a page: it repeats the call with this state. */
  readonly requestState: string | undefined;
}

/** The details of a {@link Denial} besides its reason and detail. */
export interface DenialExtras {
  /** All scopes that this operation needs, in the policy's order; only for the challenge `insufficient_scope`. */
  readonly scope?: readonly string[];
  /** The rule of the policy that decided, as a path into its file: `tools.transfer_funds.claims.role`. */
  readonly rule?: string;
  /** The id of the refused JSON-RPC message, if the gateway has read it. */
  readonly messageId?: string | number | object | null;
  /** Members of the JSON-RPC error's `data` that the protocol requires. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The inner tool that is refused: a further member of `data`. Undefined: the call itself. */
  readonly tool?: string | undefined;
  /** Seconds after which the client may try again, if waiting helps. */
  readonly retryAfterSeconds?: number | undefined;
  /** The operator's words for the client, from the policy. */
  readonly because?: string | undefined;
  /** Response header fields that only the refusing stage can fill. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The request for an approval that the call waits for. */
  readonly approval?: ApprovalReference | undefined;
  /** The sign-in that the operation needs, for the challenge `insufficient_user_authentication`. */
  readonly authentication?: RequiredAuthentication | undefined;
  readonly cause?: unknown;
}

/**
 * The one way in which a stage refuses a request. The pipeline turns it into an answer, a log line and a metric.
 *
 * `detail` is for operators: what was expected and what was found, never a token, a secret or a full claim set.
 */
export class Denial extends Error {
  override readonly name = 'Denial';
  readonly refusal: NamedRefusal;
  readonly detail: string;
  readonly scope: readonly string[];
  readonly rule: string | undefined;
  readonly messageId: DenialExtras['messageId'];
  readonly data: DenialExtras['data'];
  readonly retryAfterSeconds: number | undefined;
  readonly because: string | undefined;
  readonly headers: DenialExtras['headers'];
  readonly authentication: RequiredAuthentication | undefined;
  readonly approval: ApprovalReference | undefined;

  /** @param reason The row of a capability, or the reason of the core. */
  constructor(reason: Reason | NamedRefusal, detail: string, extras: DenialExtras = {}) {
    const refusal = typeof reason === 'string' ? refusalOf(reason) : reason;
    super(`${refusal.reason}: ${detail}`, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.refusal = refusal;
    this.detail = detail;
    this.scope = extras.scope ?? [];
    this.rule = extras.rule;
    this.messageId = extras.messageId;
    this.data = extras.tool === undefined ? extras.data : { tool: extras.tool, ...extras.data };
    this.retryAfterSeconds = extras.retryAfterSeconds;
    this.because = extras.because;
    this.headers = extras.headers;
    this.authentication = extras.authentication;
    this.approval = extras.approval;
  }

  get reason(): string {
    return this.refusal.reason;
  }

  /** The refusal of a call by a policy. */
  static of({ reason, detail, scope, rule, because, authentication, tool }: PolicyDenial): Denial {
    return new Denial(reason, detail, { scope, rule, because, authentication, tool });
  }
}

/** Whether an error refuses the token itself. An outage, for one, says nothing about the token. */
export function isTokenDenial(error: unknown): error is Denial & { readonly reason: TokenReason } {
  return error instanceof Denial && error.reason.startsWith('token.');
}

/** The sign-in that a call needs, RFC 9470 §3. */
export interface RequiredAuthentication {
  /** In the order of preference; undefined: any. */
  readonly acrValues?: readonly string[];
  /** In seconds; undefined: any. */
  readonly maxAge?: number;
}

/** A refusal by a policy. `scope` lists all scopes that the operation needs; it is empty if they would not help. */
export interface PolicyDenial {
  readonly reason: PolicyReason;
  /** For operators: what was wanted, what was found. */
  readonly detail: string;
  readonly scope: readonly string[];
  /** Path into the policy file, such as `tools.transfer_funds.claims.role`. */
  readonly rule: string;
  /** The operator's words for the client; only of a refusal that no new token can mend. */
  readonly because?: string;
  /** The sign-in that the operation needs; only of `authentication.insufficient`. */
  readonly authentication?: RequiredAuthentication;
  /** The inner tool that is refused; absent: the call itself. */
  readonly tool?: string;
}

/** A refusal that `mode: shadow` did not enforce. */
export interface ShadowDenial extends Omit<PolicyDenial, 'reason'> {
  readonly reason: string;
}
