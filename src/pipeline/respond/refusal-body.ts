import type { ApprovalReference } from '../../model/approval-book.ts';
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
export function jsonRpcError({ refusal, denial, scope, decision, messageId: id, retryAfter }: Refused): Body {
  const { reason, data, because, approval, authentication } = denial;
  const { code = refusal.status, message } = refusal;
  const isStepUp = refusal.error === 'insufficient_scope' || refusal.error === 'insufficient_user_authentication';
  const wanted = isStepUp && scope.length > 0 ? scope.join(' ') : undefined;
  const error = {
    code,
    message,
    data: {
      ...data,
      reason,
      decision,
      acr_values: authentication?.acrValues?.join(' '),
      max_age: authentication?.maxAge,
      scope: wanted,
      retry_after: retryAfter,
      because,
      approval: approval && shownApproval(approval),
      _meta: metaOf(denial),
    },
  };
  return { type: 'application/json', text: JSON.stringify({ jsonrpc: '2.0', id, error }) };
}

/** RFC 9457 §3.1, with the decision id that the operator can look up in the log. */
export function problem({
  refusal: { status, message: title },
  denial: { reason, because: detail, approval },
  decision,
}: Refused): Body {
  const document = { title, status, detail, reason, decision, approval: approval && shownApproval(approval) };
  return { type: 'application/problem+json', text: JSON.stringify(document) };
}

/** MCP, Tools §Error Handling: an execution error of a tool, in one line. Clients pass it on to the model. */
export function toolError(
  { refusal: { message }, denial, decision, messageId: id, retryAfter }: Refused,
  era: Era | undefined,
): Body {
  const { because, approval } = denial;
  const words = because === undefined ? `${message}.` : `${message}: ${because}`;
  const link = approval === undefined ? '' : ` A person can approve this call at ${approval.url}.`;
  const wait = retryAfter === undefined ? '' : ` Try again in ${retryAfter} seconds.`;
  const result = {
    // MCP 2026-07-28: each result has it. Earlier clients know no such member.
    resultType: era === 'modern' ? 'complete' : undefined,
    content: [{ type: 'text', text: `${words}${wait}${link} (decision ${decision})` }],
    isError: true,
    _meta: metaOf(denial),
  };
  return { type: 'application/json', text: JSON.stringify({ jsonrpc: '2.0', id, result }) };
}

/** What a client learns of the request that its call waits for. */
function shownApproval({ id, url, expiresAt }: ApprovalReference): Readonly<Record<string, string>> {
  return { id, url, expires_at: new Date(expiresAt).toISOString() };
}

/** SEP-2848: the way in which clients look for what a person can do about a refusal. */
function metaOf({ reason, approval }: Denial): object | undefined {
  if (approval === undefined || reason !== 'approval.required') return undefined;
  const remediationHints = [{ type: 'url', url: approval.url }];
  return {
    'io.modelcontextprotocol/authorization': {
      reason: 'insufficient_authorization',
      remediation: 'available',
      remediationHints,
    },
  };
}

/** 2026-07-28 §Multi round-trip requests: sends the user of a client to a page, where the call can be approved. */
export function urlElicitation(
  { id: elicitation, url, requestState }: ApprovalReference,
  messageId: MessageId,
  because = 'This call needs an approval',
): Body {
  const params = { mode: 'url', url, message: because };
  const result = {
    resultType: 'input_required',
    inputRequests: { [`approval-${elicitation}`]: { method: 'elicitation/create', params } },
    requestState,
  };
  return { type: 'application/json', text: JSON.stringify({ jsonrpc: '2.0', id: messageId, result }) };
}
