import type { OutgoingHttpHeaders } from 'node:http';
import type { Call } from '../../model/call.ts';
import type { ApprovalReference, Denial } from '../../model/denial.ts';
import { isStepUp, type Refusal } from '../../model/refusal.ts';
import type { Action, MessageId } from '../../model/grant.ts';
import type { RefusalAnswer } from '../../model/outcome.ts';
import { calledTool } from '../../model/policy.ts';
import { requestedScopes } from '../../model/route.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import { answer } from './answer.ts';
import { createChallenges } from './challenge.ts';
import type { CrossOrigin } from './cross-origin.ts';
import type { Era } from '../../model/mcp-method.ts';

/** The `Allow` of a route without `methods`. Such a route also forwards other methods, except TRACE. */
const everyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** The `Retry-After` in seconds for a refusal that ends at an unknown time. */
const RETRY_AFTER = 5;
/** The longest `Retry-After`: with a longer one a client would stay away after the cause has ended. */
const LONGEST_RETRY_AFTER = 60;

interface RefuseParts {
  /** What a 405 allows; undefined: all methods. */
  readonly methods?: ReadonlySet<string> | undefined;
  readonly publicUrl: string;
  readonly crossOrigin: CrossOrigin;
  /** Makes the `DPoP-Nonce` of each answer; undefined if proofs need none. */
  readonly nonce?: (() => string) | undefined;
  /**
   * The path where a final refusal of a tool is a tool result; undefined: nowhere. Below it, HTTP+SSE of MCP 2024-11-05
   * answers on its stream, and its client would wait there. The status is 200, which a proxy takes for a permission.
   */
  readonly toolErrorPath?: string | undefined;
  /** Whether a client that can open pages is sent to that of an approval, by an answer of status 200. */
  readonly elicits?: boolean;
}

/**
 * Creates the answers to refused calls on a route; without a route, for calls that match none. `action`: what a call
 * attempted, if the gateway has read that.
 */
export function createRefuse(
  route: Endpoint | undefined,
  parts: RefuseParts,
): (call: Call, denial: Denial, action: Action | undefined) => RefusalAnswer {
  const { methods, publicUrl, crossOrigin, nonce, toolErrorPath, elicits } = parts;
  const body = route?.protocol === 'mcp' ? jsonRpcError : problem;
  const challengesOf = route === undefined ? () => undefined : createChallenges(route, publicUrl);

  return (call, denial, action) => {
    const { refusal } = denial;
    const messageId = action?.messageId ?? denial.messageId ?? null;
    if (refusal.closesConnection) call.response.shouldKeepAlive = false;
    const headers: OutgoingHttpHeaders = { ...denial.headers, ...crossOrigin.headers(call) };
    if (nonce !== undefined) headers['DPoP-Nonce'] = nonce();
    const retryAfter = retryAfterOf(refusal, denial);
    const scope = route === undefined ? denial.scope : requestedScopes(route, denial.scope);
    const { because } = denial;
    const refused = { refusal, denial, scope, decision: call.decision, messageId, retryAfter };
    if (elicits === true && denial.approval?.requestState !== undefined && messageId !== null) {
      send(call, 200, headers, urlElicitation(denial.approval, messageId, because));
      return { status: 200, challenges: [], because };
    }
    if (call.path === toolErrorPath && refusal.isFinal && expectsToolResult(action)) {
      send(call, 200, headers, toolError(refused, action.era));
      return { status: 200, challenges: [], because };
    }
    const challenges = challengesOf(call, refusal, denial);
    if (challenges !== undefined) headers['WWW-Authenticate'] = challenges;
    if (refusal.status === 405) headers['Allow'] = [...(methods ?? everyMethod)].join(', ');
    if (retryAfter !== undefined) headers['Retry-After'] = String(retryAfter);
    // a 401 of an API has an empty body.
    if (refusal.status === 401 && route?.protocol === 'http') {
      answer(call, refusal.status, headers);
    } else {
      send(call, refusal.status, headers, body(refused));
    }
    return { status: refusal.status, challenges: challenges === undefined ? [] : [challenges].flat(), because };
  };
}

function send(call: Call, status: number, headers: OutgoingHttpHeaders, { type, text }: Body): void {
  answer(call, status, { ...headers, 'Content-Type': type, 'Cache-Control': 'no-store' }, text);
}

function expectsToolResult(action: Action | undefined): action is Action {
  if (action === undefined || calledTool(action.attempt) === undefined) return false;
  const { messageId, era, mayYieldHandle } = action;
  // A notification has no answer, and the answer to a call of MCP 2025-11-25 that asks for a task is a task.
  return messageId !== null && (era === 'modern' || !mayYieldHandle);
}

/** Whole seconds, RFC 9110 §10.2.3; undefined if waiting does not help. */
function retryAfterOf({ retryAfter }: Refusal, denial: Denial): number | undefined {
  if (retryAfter === undefined) return undefined;
  if (retryAfter === 'exact') return denial.retryAfterSeconds;
  return Math.min(Math.max(Math.ceil(denial.retryAfterSeconds ?? RETRY_AFTER), 1), LONGEST_RETRY_AFTER);
}

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
function jsonRpcError({ refusal, denial, scope, decision, messageId: id, retryAfter }: Refused): Body {
  const { reason, data, because, approval, authentication } = denial;
  const { code = refusal.status, message } = refusal;
  const wanted = isStepUp(refusal.error) && scope.length > 0 ? scope.join(' ') : undefined;
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
function problem({
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
function urlElicitation(
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
