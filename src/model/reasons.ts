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
  /** The part of a policy that refuses for this reason. Absent: something else than a policy refuses. */
  readonly by?: PolicyPart;
  /**
   * Whether a policy refuses the call whatever token the caller gets. The client then gets the operator's `because`,
   * and a route may answer with a tool result.
   */
  readonly isFinal?: true;
  /** Whether the client is expected to come back with a token, a scope or a proof that it can get. */
  readonly isAsking?: true;
  /**
   * The `Retry-After` of the answer, where waiting helps. `exact`: the time is known, and a client that retries earlier
   * is refused again. `estimated`: the end of the outage is not known.
   */
  readonly retryAfter?: 'exact' | 'estimated';
  /** RFC 9112 §6.1: whether the end of the request is in doubt, so that bytes after it are no request. */
  readonly closesConnection?: true;
}

/** A part of a policy: conditions on caller and arguments, lists of what may be called, rules over time, approvals. */
export type PolicyPart = 'condition' | 'listing' | 'history' | 'approval';

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

/**
 * The `error` of a challenge (RFC 6750 §3.1, RFC 9470 §3, RFC 9449 §7.1 and §9), and whether it asks for a step-up: its
 * challenge says what another token needs. For the other errors a Bearer challenge says `invalid_token`.
 */
const stepUps = {
  invalid_token: false,
  insufficient_scope: true,
  insufficient_user_authentication: true,
  invalid_dpop_proof: false,
  use_dpop_nonce: false,
} as const;

/** The `error` of a challenge. */
export type ChallengeError = keyof typeof stepUps;

/** Whether a challenge with this error asks for another token, and says what it needs. */
export function isStepUp(error: ChallengeError | undefined): boolean {
  return error !== undefined && stepUps[error];
}

const token = { status: 401, error: 'invalid_token', message: 'A valid access token is required' } as const;
const proof = { status: 401, error: 'invalid_dpop_proof', message: 'A valid proof of possession is required' } as const;
const tooMany = { status: 429, message: 'Too many requests', retryAfter: 'exact' } as const;
const unavailable = { status: 503, message: 'Temporarily unavailable', retryAfter: 'estimated' } as const;
const forbidden = { status: 403, message: 'Access denied' } as const;
const final = { ...forbidden, isFinal: true } as const;
const byCondition = { ...final, by: 'condition' } as const;
const unlisted = { ...final, by: 'listing' } as const;
const byHistory = { ...final, by: 'history' } as const;
const moreScope = { status: 403, error: 'insufficient_scope', message: 'Insufficient scope', isAsking: true } as const;
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
  'request.framing': { ...badRequest, closesConnection: true },
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
  'credentials.missing': { ...token, isAsking: true },
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
  'token.revoked': { ...token, inPhantom: 'outage', onReload: 'checked' },
  'token.too_old': { ...token, inPhantom: 'outage', onReload: 'checked' },
  'token.audience': { ...token, inPhantom: 'outage', onReload: 'checked' },
  'token.sender_constrained': { ...token, inPhantom: 'refusal', onReload: 'checked' },
  'token.unbound': { ...token, inPhantom: 'outage', onReload: 'checked' },
  'token.binding': { ...token, inPhantom: 'outage', onReload: 'kept' },
  'proof.missing': proof,
  'proof.invalid': proof,
  'proof.nonce': { ...proof, error: 'use_dpop_nonce', isAsking: true },
  'proof.replayed': proof,
  'failures.exceeded': tooMany,
  'rate.exceeded': tooMany,
  'scope.insufficient': { ...moreScope, by: 'condition' },
  'authentication.insufficient': {
    status: 401,
    error: 'insufficient_user_authentication',
    message: 'A different or more recent authentication is required',
    isAsking: true,
    by: 'condition',
  },
  'claim.denied': byCondition,
  'argument.denied': byCondition,
  'lifetime.exceeded': { ...forbidden, by: 'condition' },
  'alternatives.exhausted': byCondition,
  'exclusion.matched': byCondition,
  'tool.unlisted': unlisted,
  'resource.unlisted': unlisted,
  'prompt.unlisted': unlisted,
  'method.unlisted': unlisted,
  'request.unlisted': unlisted,
  'tool.changed': final,
  'prompt.changed': final,
  'lock.unverified': unavailable,
  'policy.error': byCondition,
  'history.missing': byHistory,
  'history.forbidden': byHistory,
  'quota.exceeded': { ...tooMany, isFinal: true, by: 'history' },
  'history.full': unavailable,
  'approval.required': { ...final, by: 'approval' },
  'approval.denied': final,
  'approval.full': unavailable,
  'approval.body': { status: 415, message: 'Unsupported media type' },
  'approval.size': { status: 413, message: 'Too large to be approved', isFinal: true },
  'decision_point.denied': final,
  'decision_point.unavailable': unavailable,
  'body.too_large': { status: 413, code: -32600, message: 'Request body too large' },
  'body.no_room': unavailable,
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
  'authorization_server.unavailable': unavailable,
  'shared_store.unavailable': unavailable,
  'exchange.refused': { status: 502, message: 'Bad gateway' },
  'exchange.invalid': { status: 502, message: 'Bad gateway' },
  'exchange.scope': { status: 502, message: 'Bad gateway' },
  'exchange.insufficient_scope': moreScope,
  'upstream.unreachable': { status: 502, message: 'Bad gateway' },
  'upstream.invalid': { status: 502, message: 'Bad gateway' },
  'upstream.timeout': { status: 504, message: 'Gateway timeout' },
  'gateway.error': { status: 500, message: 'Internal error' },
} as const satisfies Refusals;

/** The closed set of reasons; `docs/reasons.md` explains each. */
export type Reason = keyof typeof refusals;

/** The row of a reason. */
export function refusalOf(reason: Reason): Refusal {
  return refusals[reason];
}

/** The reasons for which a part of a policy refuses. */
export type ReasonBy<Part extends PolicyPart> = {
  [Each in Reason]: (typeof refusals)[Each] extends { readonly by: Part } ? Each : never;
}[Reason];

/** The reasons of a policy's denials. */
export type PolicyReason = ReasonBy<PolicyPart>;

/** The reasons of a policy's denials, in the order of the table. */
export const policyReasons: readonly PolicyReason[] = (Object.keys(refusals) as Reason[]).filter(isPolicyReason);

/** Whether a policy refuses for this reason. */
export function isPolicyReason(reason: string): reason is PolicyReason {
  return isReason(reason) && refusalOf(reason).by !== undefined;
}

/** Whether a part of a policy refuses for this reason. */
export function isReasonBy<Part extends PolicyPart>(part: Part, reason: string): reason is ReasonBy<Part> {
  return isReason(reason) && refusalOf(reason).by === part;
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(refusals, text);
}

/** The reasons that refuse the token itself. */
export type TokenReason = Extract<Reason, `token.${string}`>;

/** The reasons for which a change of settings can refuse a token that is in use. */
export type ReloadReason = {
  [Each in TokenReason]: (typeof refusals)[Each]['onReload'] extends 'checked' ? Each : never;
}[TokenReason];
