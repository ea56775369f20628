import type { CommonMembers, DecisionRecord } from '../../core/model/decision.ts';
import type { Outcome } from '../../core/model/outcome.ts';
import { commonPart, ownRows, type Row } from '../../core/telemetry/decision-record.ts';
import { ensure } from '../../core/lib/remembered.ts';

/** A kept decision, and how many decisions on the same call of its caller are like it. */
export interface CountedDecision {
  readonly decision: DecisionRecord;
  readonly count: number;
}

interface SelectedDecisions {
  readonly decisions: readonly DecisionRecord[];
  readonly selected: number;
  readonly kept: number;
}

const [ID = -1, PATH = -1] = ['id', 'path'].map((own) => ownRows.texts.findIndex(({ name }) => name === own));

const MAX_DECISIONS = 10_000;
/** The limit on their texts, in UTF-16 code units: callers choose names, scopes and claims. */
const MAX_LENGTH = 16 * 1024 * 1024;
/** The most bytes of the own texts of a decision, each with a space after it. */
const TEXT_BYTES = ownRows.texts.reduce((sum, { maxLength = 0 }) => sum + maxLength + 1, 0);

/**
 * The newest decisions of a process, in a ring buffer: the oldest are evicted first.
 *
 * The heap holds what decisions have in common once, and nothing that is new in each. An object for each decision
 * would survive many collections, which costs ten times as much as to make it.
 */
export class RecentDecisions {
  readonly #maxDecisions: number;
  readonly #maxLength: number;
  readonly #common: (CommonMembers | undefined)[];
  readonly #lengths: Float64Array;
  readonly #numbers: readonly { readonly row: Row; readonly values: Float64Array }[];
  readonly #texts: Buffer;
  readonly #textLengths: Uint16Array;
  #count = 0;
  #kept = 0;
  #length = 0;

  constructor(maxDecisions = MAX_DECISIONS, maxLength = MAX_LENGTH) {
    this.#maxDecisions = maxDecisions;
    this.#maxLength = maxLength;
    this.#common = Array.from<undefined>({ length: maxDecisions });
    this.#lengths = new Float64Array(maxDecisions);
    this.#numbers = ownRows.numbers.map((row) => ({ row, values: new Float64Array(maxDecisions) }));
    this.#texts = Buffer.alloc(maxDecisions * TEXT_BYTES);
    this.#textLengths = new Uint16Array(maxDecisions);
  }

  /** How many decisions were ever added. */
  get count(): number {
    return this.#count;
  }

  /** Adds a decision that was made at `at`, in milliseconds since the epoch. */
  add(outcome: Outcome, at: number): void {
    if (this.#kept === this.#maxDecisions) this.#evictOldest();
    const place = this.#count % this.#maxDecisions;
    const { members, length } = commonPart(outcome);
    this.#common[place] = members;
    this.#lengths[place] = length;
    for (const { row, values } of this.#numbers) values[place] = row.of(outcome, at) as number;
    let texts = '';
    for (const { of } of ownRows.texts) texts += `${(of(outcome, at) as string | undefined) ?? ''} `;
    this.#textLengths[place] = this.#texts.write(texts, place * TEXT_BYTES, TEXT_BYTES, 'latin1');
    this.#count += 1;
    this.#kept += 1;
    this.#length += length;
    while (this.#length > this.#maxLength && this.#kept > 1) this.#evictOldest();
  }

  /** The kept decisions, the newest first; only those after the first `since`, if it is given. */
  *newest(since = 0): Generator<DecisionRecord> {
    for (const place of this.#places(since)) yield this.#at(place);
  }

  /** The newest of the kept decisions that have the same path and members in common, each with the number of them. */
  groups(): readonly CountedDecision[] {
    type ByPath = Map<string, { readonly decision: DecisionRecord; count: number }>;
    const groups = new Map<CommonMembers, ByPath>();
    for (const place of this.#places()) {
      const byPath = ensure(groups, this.#common[place] as CommonMembers, (): ByPath => new Map());
      const path = this.#textsAt(place)[PATH] ?? '';
      ensure(byPath, path, () => ({ decision: this.#at(place), count: 0 })).count += 1;
    }
    return [...groups.values()].flatMap((byPath) => Array.from(byPath.values()));
  }

  /**
   * The newest decisions that `isWanted` selects, at most `limit`, with the number of all that it selects. It is asked
   * once for decisions that have the same members in common, unless they have a path.
   */
  select(isWanted: (common: CommonMembers, path?: string) => boolean, limit: number): SelectedDecisions {
    const answers = new Map<CommonMembers, boolean>();
    const decisions: DecisionRecord[] = [];
    let selected = 0;
    for (const place of this.#places()) {
      const common = this.#common[place] as CommonMembers;
      const path = this.#textsAt(place)[PATH] || undefined;
      const answer = (path === undefined ? answers.get(common) : undefined) ?? isWanted(common, path);
      if (path === undefined) answers.set(common, answer);
      if (!answer) continue;
      selected += 1;
      if (decisions.length < limit) decisions.push(this.#at(place));
    }
    return { decisions, selected, kept: this.#kept };
  }

  /** The kept decision with this id. */
  find(id: string): DecisionRecord | undefined {
    for (const place of this.#places()) if (this.#textsAt(place)[ID] === id) return this.#at(place);
    return undefined;
  }

  /** The places of the kept decisions, the newest first; only those after the first `since` decisions. */
  *#places(since = 0): Generator<number> {
    const end = this.#count;
    for (let index = end - 1; index >= Math.max(since, this.#count - this.#kept); index -= 1) {
      yield index % this.#maxDecisions;
    }
  }

  #evictOldest(): void {
    const place = (this.#count - this.#kept) % this.#maxDecisions;
    this.#length -= this.#lengths[place] ?? 0;
    this.#common[place] = undefined;
    this.#kept -= 1;
  }

  #at(place: number): DecisionRecord {
    const own: Record<string, unknown> = {};
    for (const { row, values } of this.#numbers) own[row.name] = values[place];
    const texts = this.#textsAt(place);
    for (const [index, { name }] of ownRows.texts.entries()) own[name] = texts[index] || undefined;
    return { ...own, ...this.#common[place] } as unknown as DecisionRecord;
  }

  #textsAt(place: number): readonly string[] {
    const start = place * TEXT_BYTES;
    return this.#texts.toString('latin1', start, start + (this.#textLengths[place] ?? 0)).split(' ');
  }
}
