import { randomBytes } from 'node:crypto';
import { refusals, type Reason } from '../../src/model/denial.ts';

/** A request that was sent. What becomes of it is told by three who know nothing of each other. */
interface Sent {
  /** Carries it through all of them: `traceparent`, W3C Trace Context. */
  readonly headers: { readonly traceparent: string };
  /** The client has its answer's status. */
  answered(status: number): void;
  /** The client left before an answer came. */
  left(): void;
  /** The connection broke; the gateway may never have heard of it. */
  broke(why: string): void;
}

/** Every request of a run: what the client, the gateway's decision log and the upstreams say of it. */
export interface Ledger {
  /** @param expected The statuses that may come of it. */
  send(route: string, kind: string, expected: readonly number[]): Sent;
  /** A line of the gateway's log. */
  readonly logged: (line: string) => void;
  /** An upstream got a request with these fields. */
  reached(traceparent: string | undefined): void;
  /** Requests of which somebody has not told yet. */
  readonly unsettled: number;
  readonly totals: Totals;
  /** The first things that were not as they should be. */
  readonly problems: readonly string[];
  readonly problemCount: number;
  /** Requests on connections that the gateway had closed already: known once it is closed. */
  readonly neverArrived: number;
  /** Names what nobody told the rest of. */
  close(): void;
}

/** What all requests came to, each under a key of words. */
interface Totals {
  /** `route kind outcome`. */
  readonly client: ReadonlyMap<string, number>;
  /** `route status`: what the gateway must have answered by the client's word; 499 where it got none. */
  readonly answers: ReadonlyMap<string, number>;
  /** `route decision reason`, by the decision log. */
  readonly decisions: ReadonlyMap<string, number>;
  /** By route. */
  readonly reached: ReadonlyMap<string, number>;
  /** By route: allowed, but its upstream was not there, or the client no longer. Known once it is closed. */
  readonly missed: ReadonlyMap<string, number>;
  /** Messages of the log that are no decisions. */
  readonly events: ReadonlyMap<string, number>;
  /** `route kind status` of answers that were not expected: a machine without time to spare makes some. */
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

/** What the gateway counts where nobody was answered. */
const UNANSWERED = 499;
/** How a client fares whose request was allowed and never came to the upstream. */
const mayMissUpstream: ReadonlySet<unknown> = new Set([502, 503, 504, 'left', 'broke']);
const MAX_PROBLEMS = 50;

/** Creates an empty ledger. A request that all have told the same of is forgotten but for the totals. */
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
    // Before an answer; the gateway knew of it.
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
      // Of a connection that a client opened ahead and did not use.
      if (line.route === undefined && reason === 'request.timeout')
        return count(answers, ` ${refusals[reason].status}`);
      const entry = open.get(line.trace_id ?? '');
      if (entry === undefined) return problem(`a decision on what nobody sent: ${text}`);
      entry.allow = allow;
      entry.reason = reason;
      settle(line.trace_id ?? '', entry);
    },
    reached(traceparent) {
      const id = traceparent?.slice(3, 35) ?? '';
      const entry = open.get(id);
      if (entry === undefined) return problem('an upstream got what nobody sent, or got it again');
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
        } else problem(`${route} ${kind}: never settled: client ${outcome}, allowed ${allow}, reached ${reached}`);
      }
    },
  };
}

/** Counts one more under a key. */
function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
