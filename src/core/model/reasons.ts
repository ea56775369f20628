/**
 * The reasons for which the core refuses, with their answers: one table for the wire, the log and the metrics. Those of
 * a capability stand in its folder, and `capabilities/all.ts` has all of them.
 *
 * @module
 */

import {
  badRequest,
  byCondition,
  byHistory,
  final,
  forbidden,
  moreScope,
  type NamedRefusal,
  type PolicyPart,
  reasonsOf,
  type Refusal,
  token,
  tooMany,
  unavailable,
  unlisted,
} from './refusal.ts';

/** The answer to a reason that refuses the token itself, and where else the gateway handles that reason. */
interface TokenRefusal extends Refusal {
  /**
   * Whether a reload of the configuration checks the token of an open stream for it. `checked`: it depends on settings,
   * and `reloadChecks` in `tokens/authenticator.ts` has its check. `kept`: it does not depend on settings.
   */
  readonly onReload: 'checked' | 'kept';
}

/** The type of the table: a `token.` row without its own columns does not compile. */
interface Refusals {
  readonly [reason: `token.${string}`]: TokenRefusal;
  readonly [reason: string]: Refusal | TokenRefusal;
}

/**
 * The reasons of the core. The key is also the log field `reason`, the metric label and the row in `docs/reasons.md`.
 * Several reasons share one status, challenge and message on purpose.
 */
export const refusals = reasonsOf({
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
  'token.malformed': { ...token, onReload: 'kept' },
  'token.form': { ...token, onReload: 'checked' },
  'token.issuer': { ...token, onReload: 'checked' },
  'token.type': { ...token, onReload: 'checked' },
  'token.algorithm': { ...token, onReload: 'checked' },
  'token.key': { ...token, onReload: 'kept' },
  'token.signature': { ...token, onReload: 'kept' },
  'token.claims': { ...token, onReload: 'kept' },
  'token.expired': { ...token, onReload: 'kept' },
  'token.not_yet_valid': { ...token, onReload: 'kept' },
  'token.inactive': { ...token, onReload: 'kept' },
  'token.revoked': { ...token, onReload: 'checked' },
  'token.too_old': { ...token, onReload: 'checked' },
  'token.audience': { ...token, onReload: 'checked' },
  'token.sender_constrained': { ...token, onReload: 'checked' },
  'token.unbound': { ...token, onReload: 'checked' },
  'token.binding': { ...token, onReload: 'kept' },
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
  'actor.denied': byCondition,
  'argument.denied': byCondition,
  'variable.denied': byCondition,
  'lifetime.exceeded': { ...forbidden, by: 'condition' },
  'alternatives.exhausted': byCondition,
  'exclusion.matched': byCondition,
  'tool.unlisted': unlisted,
  'resource.unlisted': unlisted,
  'prompt.unlisted': unlisted,
  'method.unlisted': unlisted,
  'request.unlisted': unlisted,
  'policy.error': byCondition,
  'history.missing': byHistory,
  'history.forbidden': byHistory,
  'quota.exceeded': { ...tooMany, isFinal: true, by: 'history' },
  'approval.required': { ...final, by: 'approval' },
  'approval.denied': { ...final, by: 'approval' },
  'calls.no_room': unavailable,
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
  'authorization_server.unavailable': unavailable,
  'shared_store.unavailable': unavailable,
  'upstream.unreachable': { status: 502, message: 'Bad gateway' },
  'upstream.invalid': { status: 502, message: 'Bad gateway' },
  'upstream.timeout': { status: 504, message: 'Gateway timeout' },
  'gateway.error': { status: 500, message: 'Internal error' },
} as const satisfies Refusals);

/** A reason of the core; `docs/reasons.md` explains each. */
export type Reason = keyof typeof refusals;

/** The row of a reason. */
export function refusalOf(reason: Reason): NamedRefusal {
  return refusals[reason];
}

/** The reasons for which a part of a policy refuses. */
export type ReasonBy<Part extends PolicyPart> = {
  [Each in Reason]: (typeof refusals)[Each] extends { readonly by: Part } ? Each : never;
}[Reason];

/** The reasons of a policy's denials. */
export type PolicyReason = ReasonBy<PolicyPart>;

/** The reasons that refuse the token itself. */
export type TokenReason = Extract<Reason, `token.${string}`>;

/** The reasons for which a change of settings can refuse a token that is in use. */
export type ReloadReason = {
  [Each in TokenReason]: (typeof refusals)[Each]['onReload'] extends 'checked' ? Each : never;
}[TokenReason];
