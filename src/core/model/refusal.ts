/** @module The forms of refusals, which rows of reasons share. */

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

/** A refusal with its reason: the log field `reason`, the metric label, and its row in `docs/reasons.md`. */
export interface NamedRefusal extends Refusal {
  readonly reason: string;
}

/** Rows of reasons, each with its own name. */
export function reasonsOf<const Rows extends Readonly<Record<string, Refusal>>>(
  rows: Rows,
): { readonly [Name in keyof Rows & string]: Rows[Name] & { readonly reason: Name } } {
  return Object.fromEntries(Object.entries(rows).map(([reason, row]) => [reason, { ...row, reason }])) as never;
}

/** A part of a policy: conditions on caller and arguments, lists of what may be called, rules over time, approvals. */
export type PolicyPart = 'condition' | 'listing' | 'history' | 'approval';

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

export const token = { status: 401, error: 'invalid_token', message: 'A valid access token is required' } as const;
export const tooMany = { status: 429, message: 'Too many requests', retryAfter: 'exact' } as const;
export const unavailable = { status: 503, message: 'Temporarily unavailable', retryAfter: 'estimated' } as const;
export const forbidden = { status: 403, message: 'Access denied' } as const;
export const final = { ...forbidden, isFinal: true } as const;
export const byCondition = { ...final, by: 'condition' } as const;
export const unlisted = { ...final, by: 'listing' } as const;
export const byHistory = { ...final, by: 'history' } as const;
export const moreScope = {
  status: 403,
  error: 'insufficient_scope',
  message: 'Insufficient scope',
  isAsking: true,
} as const;
export const badRequest = { status: 400, code: -32600, message: 'Bad request' } as const;
