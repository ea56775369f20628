import { refusals } from '../../src/capabilities/all.ts';
import type { Bed } from './bed.ts';
import type { Kind } from './kinds.ts';
import type { Seen } from './seen.ts';

/** What a fault excuses, besides {@link slowness}. */
export interface Excuses {
  /** Refusals with these reasons in the log. */
  readonly reasons: readonly string[];
  /** Answers that end early, and visibly so. */
  readonly truncated?: boolean;
  /** Connections that end without an answer. */
  readonly unanswered?: boolean;
  /** Calls that do not end before the fault does. */
  readonly held?: boolean;
}

/** Nothing is wrong. */
export const calm: Excuses = { reasons: [] };

/** What a machine with too much to do may bring about at any time: the timeouts are short. */
const slowness: ReadonlySet<string> = new Set([
  'authorization_server.unavailable',
  'shared_store.unavailable',
  'upstream.timeout',
]);

/** A call that came to its end. */
export interface Ended {
  readonly kind: Kind;
  readonly seen: Seen;
  readonly excuses: Excuses;
}

/** Reasons for which a call is refused before the gateway knows whether it is permitted. */
const undecided: ReadonlySet<string> = new Set([
  'authorization_server.unavailable',
  'shared_store.unavailable',
  'body.incomplete',
  'request.malformed',
  'request.timeout',
]);

/** What is wrong with these calls, each in words; the upstream is asked too. */
export async function complaints(bed: Bed, ended: readonly Ended[]): Promise<readonly string[]> {
  const reasons = new Map((await bed.gateway.lines()).map(({ request_id: id, reason }) => [id, reason as string]));
  const forwarded = new Map<unknown, number>();
  for (const { headers } of bed.upstream.seen) {
    forwarded.set(headers['x-call'], (forwarded.get(headers['x-call']) ?? 0) + 1);
  }
  return ended.flatMap(({ kind, seen, excuses }) => {
    const times = forwarded.get(seen.id) ?? 0;
    const wrong = [
      answerComplaint(kind, seen, excuses, reasons.get(seen.requestId)),
      times > 1 && `reached the upstream ${times} times`,
      times > 0 && !kind.permitted && 'reached the upstream',
    ];
    return wrong.filter((each) => typeof each === 'string').map((each) => `${kind.name}: ${each}`);
  });
}

function answerComplaint(kind: Kind, seen: Seen, excuses: Excuses, reason: string | undefined): string | undefined {
  const { status, whole, body, hung } = seen;
  if (hung) return excuses.held === true ? undefined : `no end, after ${status ?? 'no answer'}`;
  if (status === undefined) return excuses.unanswered === true ? undefined : 'no answer';
  if (status === kind.status) {
    const expected = kind.body;
    if (expected === undefined) return undefined;
    if (whole) return body === expected ? undefined : `another body: ${body.slice(0, 80)}`;
    if (excuses.truncated !== true) return 'broken off';
    return expected.startsWith(body) ? undefined : `another beginning: ${body.slice(0, 80)}`;
  }
  if (reason === undefined) return `${status}, and the log does not say why`;
  if (refusals[reason]?.status !== status) return `${status}, and ${reason} in the log`;
  if (!excuses.reasons.includes(reason) && !slowness.has(reason)) return `${status}: ${reason}`;
  return kind.permitted || undecided.has(reason) ? undefined : `${status}: it had been allowed (${reason})`;
}

/** Whether an answer is what it is when nothing is wrong. */
export function isRight(kind: Kind, { status, whole, body }: Seen): boolean {
  return status === kind.status && whole && (kind.body === undefined || kind.body === body);
}
