import type { DecisionSummary } from './decision-summary.ts';

/** The newest decisions of a process. */
export interface RecentDecisions {
  add(decision: DecisionSummary): void;
  /** How many decisions were ever added. */
  readonly count: number;
  /** The kept decisions, the newest first; only those after the first `since`, if it is given. */
  newest(since?: number): Generator<DecisionSummary>;
  readonly find: (id: string) => DecisionSummary | undefined;
}

/** The limit on kept decisions. */
const MAX_DECISIONS = 10_000;
/** The limit on their texts, in UTF-16 code units: callers choose names, scopes and claims. */
const MAX_LENGTH = 16 * 1024 * 1024;
/** The members that no caller chooses. */
const FIXED_LENGTH = 400;

/** Creates an empty ring buffer. The oldest decisions are evicted first. */
export function createRecentDecisions(maxDecisions = MAX_DECISIONS, maxLength = MAX_LENGTH): RecentDecisions {
  const ring: (DecisionSummary | undefined)[] = [];
  let count = 0;
  let kept = 0;
  let length = 0;

  function evictOldest(): void {
    const place = (count - kept) % maxDecisions;
    const oldest = ring[place];
    if (oldest !== undefined) length -= lengthOf(oldest);
    ring[place] = undefined;
    kept -= 1;
  }

  function* newest(since = 0): Generator<DecisionSummary> {
    const end = count;
    for (let at = end - 1; at >= Math.max(since, count - kept); at -= 1) {
      const decision = ring[at % maxDecisions];
      if (decision !== undefined) yield decision;
    }
  }

  return {
    add(decision) {
      if (kept === maxDecisions) evictOldest();
      ring[count % maxDecisions] = decision;
      count += 1;
      kept += 1;
      length += lengthOf(decision);
      while (length > maxLength && kept > 1) evictOldest();
    },
    get count() {
      return count;
    },
    newest,
    find(id) {
      for (const decision of newest()) if (decision.id === id) return decision;
      return undefined;
    },
  };
}

/** The length of the parts that a caller can make long. Callers with one cached token share a summary: each counts. */
function lengthOf({ detail = '', tool = '', method, neededScope = '', targets = [], caller }: DecisionSummary): number {
  let length = FIXED_LENGTH + detail.length + tool.length + method.length + neededScope.length + (caller?.length ?? 0);
  for (const { name } of targets) length += name.length;
  return length;
}
