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

/** The members that differ from one decision to the next, though the same caller makes the same call again. */
type OwnMember = 'at' | 'id' | 'requestId' | 'durationMs' | 'traceId';
/** What decisions of one caller have in common. */
type CommonPart = Omit<DecisionSummary, OwnMember>;

/** The limit on kept decisions. */
const MAX_DECISIONS = 10_000;
/** The limit on their texts, in UTF-16 code units: callers choose names, scopes and claims. */
const MAX_LENGTH = 16 * 1024 * 1024;
/** The members that no caller chooses. */
const FIXED_LENGTH = 400;
/** The limit on common parts that are known of a caller. */
const MAX_PARTS = 16;
/** Stands for the caller of a decision without one. */
const noCaller = {};
/** The bytes for the ids of a decision: two UUIDs, a trace id, and what is between them. */
const ID_BYTES = 128;

/**
 * Creates an empty ring buffer. The oldest decisions are evicted first.
 *
 * The heap holds what decisions have in common once, and nothing that is new in each. An object for each decision
 * would survive many collections, which costs ten times as much as to make it.
 */
export function createRecentDecisions(maxDecisions = MAX_DECISIONS, maxLength = MAX_LENGTH): RecentDecisions {
  const commonParts: (CommonPart | undefined)[] = Array.from<undefined>({ length: maxDecisions });
  const times = new Float64Array(maxDecisions);
  const durations = new Float64Array(maxDecisions);
  const ids = Buffer.alloc(maxDecisions * ID_BYTES);
  const idLengths = new Uint8Array(maxDecisions);
  const known = new WeakMap<object, readonly CommonPart[]>();
  let count = 0;
  let kept = 0;
  let length = 0;

  function evictOldest(): void {
    const place = (count - kept) % maxDecisions;
    const oldest = commonParts[place];
    if (oldest !== undefined) length -= lengthOf(oldest);
    commonParts[place] = undefined;
    kept -= 1;
  }

  /** What a decision has in common with others of its caller: the same object, if there was one. */
  function commonPart(decision: DecisionSummary): CommonPart {
    const caller = decision.caller ?? noCaller;
    const before = known.get(caller) ?? [];
    const same = before.find((each) => isSame(each, decision));
    if (same !== undefined) return same;
    const { at: _at, id: _id, requestId: _requestId, durationMs: _durationMs, traceId: _traceId, ...common } = decision;
    known.set(caller, before.length < MAX_PARTS ? [...before, common] : [common]);
    return common;
  }

  function at(index: number): DecisionSummary | undefined {
    const place = index % maxDecisions;
    const common = commonParts[place];
    if (common === undefined) return undefined;
    const start = place * ID_BYTES;
    const [id = '', requestId = '', traceId] = ids
      .toString('latin1', start, start + (idLengths[place] ?? 0))
      .split(' ');
    return { ...common, id, requestId, traceId, at: times[place] ?? NaN, durationMs: durations[place] ?? NaN };
  }

  function* newest(since = 0): Generator<DecisionSummary> {
    const end = count;
    for (let index = end - 1; index >= Math.max(since, count - kept); index -= 1) {
      const decision = at(index);
      if (decision !== undefined) yield decision;
    }
  }

  return {
    add(decision) {
      if (kept === maxDecisions) evictOldest();
      const place = count % maxDecisions;
      const { id, requestId, traceId } = decision;
      const text = traceId === undefined ? `${id} ${requestId}` : `${id} ${requestId} ${traceId}`;
      idLengths[place] = ids.write(text, place * ID_BYTES, ID_BYTES, 'latin1');
      times[place] = decision.at;
      durations[place] = decision.durationMs;
      const common = commonPart(decision);
      commonParts[place] = common;
      count += 1;
      kept += 1;
      length += lengthOf(common);
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

function isSame(common: CommonPart, other: CommonPart): boolean {
  return (
    common.kind === other.kind &&
    common.route === other.route &&
    common.policy === other.policy &&
    common.caller === other.caller &&
    common.reason === other.reason &&
    common.detail === other.detail &&
    common.neededScope === other.neededScope &&
    common.method === other.method &&
    common.tool === other.tool &&
    common.targets === other.targets &&
    common.rule === other.rule
  );
}

/** The length of the parts that a caller can make long. Callers with one cached token share a summary: each counts. */
function lengthOf({ detail = '', tool = '', method, neededScope = '', targets = [], caller }: CommonPart): number {
  let length = FIXED_LENGTH + detail.length + tool.length + method.length + neededScope.length + (caller?.length ?? 0);
  for (const { name } of targets) length += name.length;
  return length;
}
