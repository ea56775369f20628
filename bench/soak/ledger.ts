import { randomBytes } from 'node:crypto';
import { refusals, type Reason } from '../../src/model/reasons.ts';

/** A request that was sent. Three independent parties report its outcome: the client, the gateway and the upstream. */
interface Sent {
  /** Identifies it for all three: `traceparent`, W3C Trace Context. */
  readonly headers: { readonly traceparent: string };
  /** The client received this status. */
  answered(status: number): void;
  /** The client left before an answer. */
  left(): void;
  /** The connection broke. The request may not have reached the gateway. */
  broke(why: string): void;
}

/** All requests of a run, with the reports of the client, of the gateway's decision log and of the upstreams. */
export interface Ledger {
  /** @param expected The possible statuses. */
  send(route: string, kind: string, expected: readonly number[]): Sent;
  /** A line of the gateway's log. */
  readonly logged: (line: string) => void;
  /** An upstream received a request with this `traceparent`. */
  reached(traceparent: string | undefined): void;
  /** The number of requests that lack a report. */
  readonly unsettled: number;
  readonly totals: Totals;
  /** The first problems. */
  readonly problems: readonly string[];
  readonly problemCount: number;
  /** Requests on connections that the gateway had already closed. Known after `close`. */
  readonly neverArrived: number;
  /** Adds the requests that still lack a report to the problems. */
  close(): void;
}

/** Counts of all requests. The keys are words with spaces between them. */
interface Totals {
  /** `route kind outcome`. */
  readonly client: ReadonlyMap<string, number>;
  /** `route status`: the answers by the client's reports; 499 without an answer. */
  readonly answers: ReadonlyMap<string, number>;
  /** `route decision reason`, from the decision log. */
  readonly decisions: ReadonlyMap<string, number>;
  /** By route. */
  readonly reached: ReadonlyMap<string, number>;
  /** By route: allowed, but the upstream was unavailable or the client had left. Known after `close`. */
  readonly missed: ReadonlyMap<string, number>;
  /** Messages of the log other than decisions. */
  readonly events: ReadonlyMap<string, number>;
  /** `route kind status` of unexpected answers. A machine without spare time causes some. */
  readonly unexpected: ReadonlyMap<string, number>;
}

interface Entry {
  readonly route: string;
  readonly kind: string;
  outcome: number | 'left' | 'broke' | undefined;
  allow: boolean | undefined;
  reason: Reason | undefined;
  reached: number;
}

interface Line {
  readonly msg: string;
  readonly route?: string;
  readonly allow?: boolean;
  readonly reason?: Reason;
  readonly trace_id?: string;
}

/** The status that the gateway counts if the client left before an answer. */
const UNANSWERED = 499;
/** Outcomes of the client that explain why an allowed request did not reach the upstream. */
const mayMissUpstream: ReadonlySet<unknown> = new Set([502, 503, 504, 'left', 'broke']);
const MAX_PROBLEMS = 50;

/** Creates an empty ledger. It keeps only the totals of requests whose reports agree. */
export function createLedger(): Ledger {
  const open = new Map<string, Entry>();
  const client = new Map<string, number>();
  const answers = new Map<string, number>();
  const decisions = new Map<string, number>();
  const reached = new Map<string, number>();
  const events = new Map<string, number>();
  const unexpected = new Map<string, number>();
  const missed = new Map<string, number>();
  const problems: string[] = [];
  let problemCount = 0;
  let neverArrived = 0;

  function problem(text: string): void {
    problemCount += 1;
    if (problems.length < MAX_PROBLEMS) problems.push(text);
  }

  function settle(id: string, entry: Entry): void {
    const { outcome, allow, reason, route, kind } = entry;
    if (outcome === undefined || allow === undefined) return;
    if (allow && entry.reached === 0) return;
    open.delete(id);
    // The connection broke before an answer, but the gateway received the request.
    if (outcome === 'broke') count(answers, `${route} ${UNANSWERED}`);
    if (entry.reached !== Number(allow))
      problem(`${route} ${kind}: ${outcome}, reached an upstream ${entry.reached} times`);
    const refused = reason === undefined ? undefined : refusals[reason].status;
    if (!allow && typeof outcome === 'number' && outcome !== refused) {
      problem(`${route} ${kind}: answered ${outcome}, logged as ${reason}`);
    }
  }

  return {
    send(route, kind, expected) {
      const id = randomBytes(16).toString('hex');
      const entry: Entry = {
        route,
        kind,
        outcome: undefined,
        allow: undefined,
        reason: undefined,
        reached: 0,
      };
      open.set(id, entry);
      const ends = (outcome: NonNullable<Entry['outcome']>): void => {
        entry.outcome = outcome;
        count(client, `${route} ${kind} ${outcome}`);
        if (outcome !== 'broke') count(answers, `${route} ${outcome === 'left' ? UNANSWERED : outcome}`);
        settle(id, entry);
      };
      return {
        headers: { traceparent: `00-${id}-${id.slice(0, 16)}-01` },
        answered(status) {
          if (!expected.includes(status)) {
            count(unexpected, `${route} ${kind} ${status}`);
            if (status < 300) problem(`${route} ${kind}: answered ${status}`);
          }
          ends(status);
        },
        left: () => ends('left'),
        broke(why) {
          count(unexpected, `${route} ${kind} ${why}`);
          ends('broke');
        },
      };
    },
    logged(text) {
      const line = JSON.parse(text) as Line;
      if (line.msg !== 'decision')
        return count(events, line.reason === undefined ? line.msg : `${line.msg}: ${line.reason}`);
      const { route = '', allow = false, reason } = line;
      count(decisions, `${route} ${allow ? 'allow' : 'deny'} ${reason ?? 'none'}`);
      // The timeout of a connection that a client opened in advance and did not use.
      if (line.route === undefined && reason === 'request.timeout')
        return count(answers, ` ${refusals[reason].status}`);
      const entry = open.get(line.trace_id ?? '');
      if (entry === undefined) return problem(`a decision on an unknown request: ${text}`);
      entry.allow = allow;
      entry.reason = reason;
      settle(line.trace_id ?? '', entry);
    },
    reached(traceparent) {
      const id = traceparent?.slice(3, 35) ?? '';
      const entry = open.get(id);
      if (entry === undefined) return problem('an upstream received an unknown request, or a request again');
      entry.reached += 1;
      count(reached, entry.route);
      settle(id, entry);
    },
    get unsettled() {
      return open.size;
    },
    totals: { client, answers, decisions, reached, missed, events, unexpected },
    problems,
    get neverArrived() {
      return neverArrived;
    },
    get problemCount() {
      return problemCount;
    },
    close() {
      for (const { route, kind, outcome, allow, reached } of open.values()) {
        if (outcome === 'broke' && allow === undefined && reached === 0) neverArrived += 1;
        else if (allow === true && reached === 0 && mayMissUpstream.has(outcome)) {
          count(missed, route);
          if (outcome === 'broke') count(answers, `${route} ${UNANSWERED}`);
        } else problem(`${route} ${kind}: incomplete: client ${outcome}, allowed ${allow}, reached ${reached}`);
      }
    },
  };
}

/** Adds one to the count of a key. */
function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
