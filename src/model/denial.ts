/**
 * The reasons for which the gateway refuses, with their answers: one table for the wire, the log and the metrics.
 *
 * @module
 */

/** The answer to one reason: its HTTP status, and the RFC 6750 §3.1 error code if it carries a challenge. */
export interface Refusal {
  readonly status: number;
  /** The `error` of the `WWW-Authenticate` challenge. Absent if no token could help, so that no client loops. */
  readonly error?: ChallengeError;
  /** The JSON-RPC error code of an MCP answer. Default: the HTTP status, which JSON-RPC 2.0 §5.1 does not reserve. */
  readonly code?: number;
  /** The text for the client: *that* the call was refused, never *why*. One line of ASCII without quotes or `=`. */
  readonly message: string;
  /**
   * Whether a policy refuses the call whatever token the caller gets. The client then gets the operator's `because`,
   * and a route may answer with a tool result.
   */
  readonly isFinal?: boolean;
}

/** The answer to a reason that refuses the token itself, and where else the gateway handles that reason. */
interface TokenRefusal extends Refusal {
  /**
   * Its effect if a phantom token, the answer of an authorization server, has this fault. `refusal`: the caller's token
   * is refused. `outage`: the answer proves nothing, and the server counts as unavailable.
   */
  readonly inPhantom: 'refusal' | 'outage';
  /**
   * Whether a reload of the configuration checks the token of an open stream for it. `checked`: it depends on settings,
   * and `reloadChecks` in `authenticate/authenticator.ts` has its check. `kept`: it does not depend on settings.
   */
  readonly onReload: 'checked' | 'kept';
}

/** The type of the table: a `token.` row without its own columns does not compile. */
interface Refusals {
  readonly [reason: `token.${string}`]: TokenRefusal;
  readonly [reason: string]: Refusal | TokenRefusal;
}

/** The `error` of a challenge: RFC 6750 §3.1, and RFC 9449 §7.1 and §9. */
export type ChallengeError = 'invalid_token' | 'insufficient_scope' | 'invalid_dpop_proof' | 'use_dpop_nonce';

const token = { status: 401, error: 'invalid_token', message: 'A valid access token is required' } as const;
const proof = { status: 401, error: 'invalid_dpop_proof', message: 'A valid proof of possession is required' } as const;
const tooMany = { status: 429, message: 'Too many requests' } as const;
const forbidden = { status: 403, message: 'Access denied' } as const;
const final = { ...forbidden, isFinal: true } as const;
const badRequest = { status: 400, code: -32600, message: 'Bad request' } as const;

/**
 * Every reason for which the gateway refuses. The key is also the log field `reason`, the metric label and the row in
 * `docs/reasons.md`. Several reasons share one status, challenge and message on purpose.
 */
export const refusals = {
  'request.malformed': badRequest,
  'request.target': badRequest,
  'request.path': badRequest,
  'request.duplicate_header': badRequest,
  'request.framing': badRequest,
  'request.certificate': badRequest,
  'request.credentials': badRequest,
  'request.header_too_large': { status: 431, message: 'Request header fields too large' },
  'request.timeout': { status: 408, message: 'Request timeout' },
  'request.expectation': { status: 417, message: 'Expectation failed' },
  'request.host': { status: 403, message: 'Host not allowed' },
  'request.origin': { status: 403, message: 'Origin not allowed' },
  'route.unknown': { status: 404, message: 'Not found' },
  'route.method': { status: 405, message: 'Method not allowed' },
  'route.query': { status: 400, code: -32600, message: 'Query not supported here' },
  'route.upgrade': { status: 400, code: -32600, message: 'Upgrade not supported here' },
  'credentials.missing': token,
  'token.malformed': { ...token, inPhantom: 'outage', onReload: 'kept' },
  'token.form': { ...token, inPhantom: 'outage', onReload: 'checked' },
  'token.issuer': { ...token, inPhantom: 'outage', onReload: 'checked' },
  'token.type': { ...token, inPhantom: 'outage', onReload: 'checked' },
  'token.algorithm': { ...token, inPhantom: 'outage', onReload: 'checked' },
  'token.key': { ...token, inPhantom: 'outage', onReload: 'kept' },
  'token.signature': { ...token, inPhantom: 'outage', onReload: 'kept' },
  'token.claims': { ...token, inPhantom: 'outage', onReload: 'kept' },
  'token.expired': { ...token, inPhantom: 'refusal', onReload: 'kept' },
  'token.not_yet_valid': { ...token, inPhantom: 'refusal', onReload: 'kept' },
  'token.inactive': { ...token, inPhantom: 'outage', onReload: 'kept' },
  'token.audience': { ...token, inPhantom: 'outage', onReload: 'checked' },
  'token.sender_constrained': { ...token, inPhantom: 'refusal', onReload: 'checked' },
  'token.unbound': { ...token, inPhantom: 'outage', onReload: 'checked' },
  'token.binding': { ...token, inPhantom: 'outage', onReload: 'kept' },
  'proof.missing': proof,
  'proof.invalid': proof,
  'proof.nonce': { ...proof, error: 'use_dpop_nonce' },
  'proof.replayed': proof,
  'failures.exceeded': tooMany,
  'rate.exceeded': tooMany,
  'scope.insufficient': { status: 403, error: 'insufficient_scope', message: 'Insufficient scope' },
  'claim.denied': final,
  'argument.denied': final,
  'lifetime.exceeded': forbidden,
  'alternatives.exhausted': final,
  'exclusion.matched': final,
  'tool.unlisted': final,
  'resource.unlisted': final,
  'prompt.unlisted': final,
  'method.unlisted': final,
  'tool.changed': final,
  'prompt.changed': final,
  'lock.unverified': { status: 503, message: 'Temporarily unavailable' },
  'policy.error': final,
  'history.missing': final,
  'history.forbidden': final,
  'quota.exceeded': { ...tooMany, isFinal: true },
  'history.full': { status: 503, message: 'Temporarily unavailable' },
  'body.too_large': { status: 413, code: -32600, message: 'Request body too large' },
  'body.no_room': { status: 503, message: 'Temporarily unavailable' },
  'body.type': { status: 415, code: -32600, message: 'Unsupported media type' },
  'body.encoding': { status: 415, code: -32600, message: 'Unsupported content encoding' },
  'body.incomplete': { status: 400, code: -32700, message: 'Parse error' },
  'body.malformed': { status: 400, code: -32700, message: 'Parse error' },
  'body.ambiguous': { status: 400, code: -32600, message: 'Invalid request' },
  'body.message': { status: 400, code: -32600, message: 'Invalid request' },
  'message.header_mismatch': { status: 400, code: -32020, message: 'The headers contradict the message' },
  'message.version': { status: 400, code: -32022, message: 'Unsupported protocol version' },
  'message.meta': { status: 400, code: -32602, message: 'Invalid params' },
  'message.capability': { status: 400, code: -32021, message: 'Missing required client capability' },
  'message.method': { status: 404, code: -32601, message: 'Method not found' },
  'session.unknown': { status: 404, message: 'Session not found' },
  'handle.unknown': { status: 404, code: -32602, message: 'Not found' },
  'forward_auth.peer': forbidden,
  'forward_auth.request': badRequest,
  'forward_auth.body': forbidden,
  'authorization_server.unavailable': { status: 503, message: 'Temporarily unavailable' },
  'shared_store.unavailable': { status: 503, message: 'Temporarily unavailable' },
  'exchange.refused': { status: 502, message: 'Bad gateway' },
  'exchange.invalid': { status: 502, message: 'Bad gateway' },
  'exchange.scope': { status: 502, message: 'Bad gateway' },
  'exchange.insufficient_scope': { status: 403, error: 'insufficient_scope', message: 'Insufficient scope' },
  'upstream.unreachable': { status: 502, message: 'Bad gateway' },
  'upstream.invalid': { status: 502, message: 'Bad gateway' },
  'upstream.timeout': { status: 504, message: 'Gateway timeout' },
  'gateway.error': { status: 500, message: 'Internal error' },
} as const satisfies Refusals;

/** The closed set of reasons; `docs/reasons.md` explains each. */
export type Reason = keyof typeof refusals;

/** Whether a policy refuses a call for this reason whatever token the caller gets. */
export function isFinal(reason: Reason): boolean {
  const { isFinal: found = false }: Refusal = refusals[reason];
  return found;
}

/** The reasons that refuse the token itself. */
type TokenReason = Extract<Reason, `token.${string}`>;

/** The reasons for which a change of settings can refuse a token that is in use. */
export type ReloadReason = {
  [Each in TokenReason]: (typeof refusals)[Each]['onReload'] extends 'checked' ? Each : never;
}[TokenReason];

/** What a {@link Denial} may carry besides its reason and detail. */
export interface DenialExtras {
  /** All scopes that this operation needs, in the policy's order; only for the challenge `insufficient_scope`. */
  readonly scope?: readonly string[];
  /** The rule of the policy that decided, as a path into its file: `tools.transfer_funds.claims.role`. */
  readonly rule?: string;
  /** The id of the refused JSON-RPC message, if the gateway has read it. */
  readonly messageId?: string | number | object | null;
  /** Members of the JSON-RPC error's `data` that the protocol requires. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Seconds after which the client may try again, if waiting helps. */
  readonly retryAfterSeconds?: number | undefined;
  /** The operator's words for the client, from the policy. */
  readonly because?: string | undefined;
  /** Response header fields that only the refusing stage can fill. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/**
 * The one way in which a stage refuses a request. The pipeline turns it into an answer, a log line and a metric.
 *
 * `detail` is for operators: what was expected and what was found, never a token, a secret or a full claim set.
 */
export class Denial extends Error {
  override readonly name = 'Denial';
  readonly reason: Reason;
  readonly detail: string;
  readonly scope: readonly string[];
  readonly rule: string | undefined;
  readonly messageId: DenialExtras['messageId'];
  readonly data: DenialExtras['data'];
  readonly retryAfterSeconds: number | undefined;
  readonly because: string | undefined;
  readonly headers: DenialExtras['headers'];

  constructor(reason: Reason, detail: string, extras: DenialExtras = {}) {
    super(`${reason}: ${detail}`, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.reason = reason;
    this.detail = detail;
    this.scope = extras.scope ?? [];
    this.rule = extras.rule;
    this.messageId = extras.messageId;
    this.data = extras.data;
    this.retryAfterSeconds = extras.retryAfterSeconds;
    this.because = extras.because;
    this.headers = extras.headers;
  }
}

/** A refusal of the token itself. An outage, for one, says nothing about the token. */
export type TokenDenial = Denial & { readonly reason: TokenReason };

/** Whether an error refuses the token itself. */
export function isTokenDenial(error: unknown): error is TokenDenial {
  return error instanceof Denial && error.reason.startsWith('token.');
}
