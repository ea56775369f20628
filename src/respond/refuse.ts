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

/** What a route without `methods` serves; it lets through others that upstreams may know, but never TRACE. */
const everyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Seconds after which a client may ask again, where only time mends it and nobody knows how much. */
const RETRY_AFTER = 5;
/** No client is sent away for longer: it would stay away when all is well again. */
const LONGEST_RETRY_AFTER = 60;

/** What the refusals of a route say besides the refusal itself. */
interface RefuseParts {
  /** What a 405 allows; undefined: all methods. */
  readonly methods?: ReadonlySet<string> | undefined;
  readonly publicUrl: string;
  readonly crossOrigin: CrossOrigin;
  /** The `DPoP-Nonce` of each answer, where proofs need one. */
  readonly nonce?: (() => string) | undefined;
}

/** Creates the refusals of a route, or of none (`undefined`: nothing was matched). */
export function createRefuse(route: Route | undefined, parts: RefuseParts): Refuse {
  const { methods, publicUrl, crossOrigin, nonce } = parts;
  const body = route?.protocol === 'mcp' ? jsonRpcError : problem;
  const challengesOf = route === undefined ? () => undefined : createChallenges(route, publicUrl);

  return (call, denial, messageId) => {
    const refusal: Refusal = refusals[denial.reason];
    // RFC 9112 §6.1: MUST close the connection. Where the request ends is in doubt, so its rest is no next request.
    if (denial.reason === 'request.framing') call.response.shouldKeepAlive = false;
    const headers: OutgoingHttpHeaders = { ...denial.headers, ...crossOrigin.headers(call) };
    const wanted = challengesOf(call, refusal, denial);
    if (wanted !== undefined) headers['WWW-Authenticate'] = wanted;
    if (nonce !== undefined) headers['DPoP-Nonce'] = nonce();
    if (refusal.status === 405) headers['Allow'] = [...(methods ?? everyMethod)].join(', ');
    const retryAfter = retryAfterSeconds(refusal, denial);
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

/** Whole seconds, RFC 9110 §10.2.3; undefined where waiting mends nothing. */
function retryAfterSeconds({ status }: Refusal, denial: Denial): number | undefined {
  // To the second: a client that comes earlier is refused again.
  if (status === 429) return denial.retryAfterSeconds;
  if (status !== 503) return undefined;
  return Math.min(Math.max(Math.ceil(denial.retryAfterSeconds ?? RETRY_AFTER), 1), LONGEST_RETRY_AFTER);
}

/** What a body says. */
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

/** JSON-RPC 2.0 §5.1. What a client can act on is in `data` too: some clients keep nothing else of an answer. */
function jsonRpcError({
  refusal,
  denial: { reason, data, scope },
  decision,
  messageId: id,
  retryAfter,
}: Refused): Body {
  const { code = refusal.status, message } = refusal;
  const wanted = refusal.error === 'insufficient_scope' && scope.length > 0 ? scope.join(' ') : undefined;
  const error = { code, message, data: { ...data, reason, decision, scope: wanted, retry_after: retryAfter } };
  return { type: 'application/json', text: JSON.stringify({ jsonrpc: '2.0', id, error }) };
}

/** RFC 9457, with the id that the operator can look up. */
function problem({ refusal: { status, message: title }, denial: { reason }, decision }: Refused): Body {
  return { type: 'application/problem+json', text: JSON.stringify({ title, status, reason, decision }) };
}
