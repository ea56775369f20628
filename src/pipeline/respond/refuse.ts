import type { OutgoingHttpHeaders } from 'node:http';
import type { Call } from '../../model/call.ts';
import type { Denial } from '../../model/denial.ts';
import { type Refusal, refusalOf } from '../../model/reasons.ts';
import type { Action } from '../../model/grant.ts';
import type { RefusalAnswer } from '../../model/outcome.ts';
import { calledTool } from '../../model/policy.ts';
import { requestedScopes, type Route } from '../../model/route.ts';
import { answer } from './answer.ts';
import { createChallenges } from './challenge.ts';
import type { CrossOrigin } from './cross-origin.ts';
import { jsonRpcError, problem, toolError, type Body, urlElicitation } from './refusal-body.ts';

/** Answers a call that was refused. `action`: what it attempted, if the gateway has read that. */
export type Refuse = (call: Call, denial: Denial, action: Action | undefined) => RefusalAnswer;

/** The `Allow` of a route without `methods`. Such a route also forwards other methods, except TRACE. */
const everyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** The `Retry-After` in seconds for a refusal that ends at an unknown time. */
const RETRY_AFTER = 5;
/** The longest `Retry-After`: with a longer one a client would stay away after the cause has ended. */
const LONGEST_RETRY_AFTER = 60;

/** What the answers to refused calls have in common on a route. */
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

/** Creates the answers to refused calls on a route; without a route, for calls that match none. */
export function createRefuse(route: Route | undefined, parts: RefuseParts): Refuse {
  const { methods, publicUrl, crossOrigin, nonce, toolErrorPath, elicits = false } = parts;
  const body = route?.protocol === 'mcp' ? jsonRpcError : problem;
  const challengesOf = route === undefined ? () => undefined : createChallenges(route, publicUrl);

  return (call, denial, action) => {
    const refusal = refusalOf(denial.reason);
    const messageId = action?.messageId ?? denial.messageId ?? null;
    if (refusal.closesConnection) call.response.shouldKeepAlive = false;
    const headers: OutgoingHttpHeaders = { ...denial.headers, ...crossOrigin.headers(call) };
    if (nonce !== undefined) headers['DPoP-Nonce'] = nonce();
    const retryAfter = retryAfterOf(refusal, denial);
    const scope = route === undefined ? denial.scope : requestedScopes(route, denial.scope);
    const said = denial.because === undefined ? {} : { because: denial.because };
    const refused = { refusal, denial, scope, decision: call.decision, messageId, retryAfter };
    if (elicits && denial.approval?.requestState !== undefined && messageId !== null) {
      send(call, 200, headers, urlElicitation(denial.approval, messageId, denial.because));
      return { status: 200, challenges: [], ...said };
    }
    if (call.path === toolErrorPath && refusal.isFinal && expectsToolResult(action)) {
      send(call, 200, headers, toolError(refused, action.era));
      return { status: 200, challenges: [], ...said };
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
    return { status: refusal.status, challenges: challenges === undefined ? [] : [challenges].flat(), ...said };
  };
}

function send(call: Call, status: number, headers: OutgoingHttpHeaders, { type, text }: Body): void {
  answer(call, status, { ...headers, 'Content-Type': type, 'Cache-Control': 'no-store' }, text);
}

/** Whether the answer to a call is a tool result. */
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
