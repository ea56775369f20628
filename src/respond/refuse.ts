import type { OutgoingHttpHeaders } from 'node:http';
import type { Call } from '../model/call.ts';
import { type Denial, type Refusal, refusals } from '../model/denial.ts';
import type { MessageId } from '../model/grant.ts';
import type { Route } from '../model/route.ts';
import { answer } from './answer.ts';
import { createChallenges } from './challenge.ts';
import type { CrossOrigin } from './cross-origin.ts';

/** Answers a call that was refused. */
export type Refuse = (call: Call, denial: Denial, messageId: MessageId) => void;

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
}

/** Creates the answers to refused calls on a route; without a route, for calls that match none. */
export function createRefuse(route: Route | undefined, parts: RefuseParts): Refuse {
  const { methods, publicUrl, crossOrigin, nonce } = parts;
  const body = route?.protocol === 'mcp' ? jsonRpcError : problem;
  const challengesOf = route === undefined ? () => undefined : createChallenges(route, publicUrl);

  return (call, denial, messageId) => {
    const refusal: Refusal = refusals[denial.reason];
    // RFC 9112 §6.1: MUST close the connection. The end of the request is in doubt, so bytes after it are no request.
    if (denial.reason === 'request.framing') call.response.shouldKeepAlive = false;
    const headers: OutgoingHttpHeaders = { ...denial.headers, ...crossOrigin.headers(call) };
    const wanted = challengesOf(call, refusal, denial);
    if (wanted !== undefined) headers['WWW-Authenticate'] = wanted;
    if (nonce !== undefined) headers['DPoP-Nonce'] = nonce();
    if (refusal.status === 405) headers['Allow'] = [...(methods ?? everyMethod)].join(', ');
    const retryAfter = retryAfterOf(refusal, denial);
    if (retryAfter !== undefined) headers['Retry-After'] = String(retryAfter);
    // a 401 of an API has an empty body.
    if (refusal.status === 401 && route?.protocol === 'http') {
      answer(call, refusal.status, headers);
      return;
    }
    const { type, text } = body({ refusal, denial, decision: call.decision, messageId, retryAfter });
    answer(call, refusal.status, { ...headers, 'Content-Type': type, 'Cache-Control': 'no-store' }, text);
  };
}

/** Whole seconds, RFC 9110 §10.2.3; undefined if waiting does not help. */
function retryAfterOf({ status }: Refusal, denial: Denial): number | undefined {
  // Exact: a client that retries earlier is refused again.
  if (status === 429) return denial.retryAfterSeconds;
  if (status !== 503) return undefined;
  return Math.min(Math.max(Math.ceil(denial.retryAfterSeconds ?? RETRY_AFTER), 1), LONGEST_RETRY_AFTER);
}

/** A refusal, for the body of its answer. */
interface Refused {
  readonly refusal: Refusal;
  readonly denial: Denial;
  readonly decision: string;
  readonly messageId: MessageId;
  readonly retryAfter: number | undefined;
}

interface Body {
  readonly type: string;
  readonly text: string;
}

/** JSON-RPC 2.0 §5.1. `data` repeats what a client can act on: some clients keep only the body of an answer. */
function jsonRpcError({
  refusal,
  denial: { reason, data, scope, because },
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
function problem({
  refusal: { status, message: title },
  denial: { reason, because: detail },
  decision,
}: Refused): Body {
  return { type: 'application/problem+json', text: JSON.stringify({ title, status, detail, reason, decision }) };
}
