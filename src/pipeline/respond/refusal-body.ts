import type { Denial } from '../../model/denial.ts';
import type { Refusal } from '../../model/reasons.ts';
import type { MessageId } from '../../model/grant.ts';
import type { Era } from '../../model/mcp.ts';

/** A refusal, for the body of its answer. */
export interface Refused {
  readonly refusal: Refusal;
  readonly denial: Denial;
  /** The scopes of the denial, as clients must request them. */
  readonly scope: readonly string[];
  readonly decision: string;
  readonly messageId: MessageId;
  /** Seconds. */
  readonly retryAfter: number | undefined;
}

/** The body of an answer. */
export interface Body {
  /** Its media type. */
  readonly type: string;
  readonly text: string;
}

/** JSON-RPC 2.0 §5.1. `data` repeats what a client can act on: some clients keep only the body of an answer. */
export function jsonRpcError({
  refusal,
  denial: { reason, data, because },
  scope,
  decision,
  messageId: id,
  retryAfter,
}: Refused): Body {
  const { code = refusal.status, message } = refusal;
  const wanted = refusal.error === 'insufficient_scope' && scope.length > 0 ? scope.join(' ') : undefined;
  const error = { code, message, data: { ...data, reason, decision, scope: wanted, retry_after: retryAfter, because } };
  return { type: 'application/json', text: JSON.stringify({ jsonrpc: '2.0', id, error }) };
}

/** RFC 9457 §3.1, with the decision id that the operator can look up in the log. */
export function problem({
  refusal: { status, message: title },
  denial: { reason, because: detail },
  decision,
}: Refused): Body {
  return { type: 'application/problem+json', text: JSON.stringify({ title, status, detail, reason, decision }) };
}

/** MCP, Tools §Error Handling: an execution error of a tool, in one line. Clients pass it on to the model. */
export function toolError(
  { refusal: { message }, denial: { because }, decision, messageId: id, retryAfter }: Refused,
  era: Era | undefined,
): Body {
  const words = because === undefined ? `${message}.` : `${message}: ${because}`;
  const wait = retryAfter === undefined ? '' : ` Try again in ${retryAfter} seconds.`;
  const result = {
    // MCP 2026-07-28: each result has it. Earlier clients know no such member.
    resultType: era === 'modern' ? 'complete' : undefined,
    content: [{ type: 'text', text: `${words}${wait} (decision ${decision})` }],
    isError: true,
  };
  return { type: 'application/json', text: JSON.stringify({ jsonrpc: '2.0', id, result }) };
}
