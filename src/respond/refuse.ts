import type { OutgoingHttpHeaders } from 'node:http';
import type { Call } from '../model/call.ts';
import { refusals, type Denial, type Refusal } from '../model/denial.ts';
import type { MessageId } from '../model/grant.ts';
import type { Route } from '../model/route.ts';
import { answer } from './answer.ts';
import { challenge } from './challenge.ts';
import type { CrossOrigin } from './cross-origin.ts';
import { metadataUrl } from './resource-metadata.ts';

/** Answers a call that was refused. */
export type Refuse = (call: Call, denial: Denial, messageId: MessageId) => void;

/** What a route without `methods` serves; it lets through others that upstreams may know, but never TRACE. */
const everyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Seconds after which a client may ask again, where only time mends it. */
const RETRY_AFTER = '5';

/** Creates the refusals of a route, or of none (`undefined`: nothing was matched). `methods`: what a 405 allows. */
export function createRefuse(
  route: Route | undefined,
  methods: ReadonlySet<string> | undefined,
  publicUrl: string,
  crossOrigin: CrossOrigin,
): Refuse {
  const body = route?.protocol === 'mcp' ? jsonRpcError : problem;
  const challengeOf = route === undefined ? () => undefined : createChallenges(route, publicUrl);

  return (call, denial, messageId) => {
    const refusal: Refusal = refusals[denial.reason];
    const headers: OutgoingHttpHeaders = { ...crossOrigin.headers(call) };
    const wanted = challengeOf(refusal, denial);
    if (wanted !== undefined) headers['WWW-Authenticate'] = wanted;
    if (refusal.status === 405) headers['Allow'] = [...(methods ?? everyMethod)].join(', ');
    if (refusal.status === 503) headers['Retry-After'] = RETRY_AFTER;
    // The authorization specification §7: a 401 of an API has an empty body.
    if (refusal.status === 401 && route?.protocol === 'http') {
      answer(call, refusal.status, headers);
      return;
    }
    const { type, text } = body(refusal, denial, call.decision, messageId);
    answer(call, refusal.status, { ...headers, 'Content-Type': type, 'Cache-Control': 'no-store' }, text);
  };
}

type ChallengeOf = (refusal: Refusal, denial: Denial) => string | undefined;

/** RFC 6750 §3: which challenge goes with a refusal on this route. All that does not vary is built here. */
function createChallenges(route: Route, publicUrl: string): ChallengeOf {
  const resourceMetadata = metadataUrl(route, publicUrl);
  const begin = challenge({ error: 'invalid_token', scope: route.policy?.scope ?? [], resourceMetadata });
  return (refusal, denial) => {
    if (refusal.error === 'insufficient_scope') {
      return challenge({ error: 'insufficient_scope', scope: denial.scope, resourceMetadata });
    }
    if (refusal.error !== 'invalid_token') return undefined;
    if (route.protocol === 'mcp') return begin;
    // RFC 6750 §3.1: a request without authentication information gets no error code.
    return denial.reason === 'credentials.missing' ? 'Bearer' : 'Bearer error="invalid_token"';
  };
}

interface Body {
  readonly type: string;
  readonly text: string;
}

/** JSON-RPC 2.0 §5.1. */
function jsonRpcError(refusal: Refusal, { reason, data }: Denial, decision: string, id: MessageId): Body {
  const { code = refusal.status, message } = refusal;
  const error = { code, message, data: { ...data, reason, decision } };
  return { type: 'application/json', text: JSON.stringify({ jsonrpc: '2.0', id, error }) };
}

/** RFC 9457, with the id that the operator can look up. */
function problem(refusal: Refusal, { reason }: Denial, decision: string): Body {
  const { status, message: title } = refusal;
  return { type: 'application/problem+json', text: JSON.stringify({ title, status, reason, decision }) };
}
