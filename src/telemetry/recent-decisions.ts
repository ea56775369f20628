import type { CommonMembers, DecisionRecord } from '../model/decision.ts';
import type { Outcome } from '../model/outcome.ts';
import { commonPart, ownRows, type Row } from './decision-record.ts';

/** A kept decision, and how many decisions on the same call of its caller are like it. */
export interface CountedDecision {
  readonly decision: DecisionRecord;
  readonly count: number;
}

/** The limit on kept decisions. */
const MAX_DECISIONS = 10_000;
/** The limit on their texts, in UTF-16 code units: callers choose names, scopes and claims. */
const MAX_LENGTH = 16 * 1024 * 1024;
/** The bytes for the own texts of a decision: two UUIDs, a trace id, and what is between them. */
const TEXT_BYTES = 128;

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
  readonly #textLengths: Uint8Array;
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
    this.#textLengths = new Uint8Array(maxDecisions);
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
    const end = this.#count;
    for (let index = end - 1; index >= Math.max(since, this.#count - this.#kept); index -= 1) {
      yield this.#at(index % this.#maxDecisions);
    }
  }

  /** The newest of the kept decisions that have the same members in common, each with the number of them. */
  groups(): readonly CountedDecision[] {
    const groups = new Map<CommonMembers, { decision: DecisionRecord; count: number }>();
    for (let index = this.#count - 1; index >= this.#count - this.#kept; index -= 1) {
      const place = index % this.#maxDecisions;
      const common = this.#common[place] as CommonMembers;
      const group = groups.get(common);
      if (group === undefined) groups.set(common, { decision: this.#at(place), count: 1 });
      else group.count += 1;
    }
    return [...groups.values()];
  }

  /** The kept decision with this id. */
  find(id: string): DecisionRecord | undefined {
    for (const record of this.newest()) if (record.id === id) return record;
    return undefined;
  }

  #evictOldest(): void {
    const place = (this.#count - this.#kept) % this.#maxDecisions;
    this.#length -= this.#lengths[place] ?? 0;
    this.#common[place] = undefined;
    this.#kept -= 1;
  }

  #at(place: number): DecisionRecord {
    const start = place * TEXT_BYTES;
    const texts = this.#texts.toString('latin1', start, start + (this.#textLengths[place] ?? 0)).split(' ');
    const own = [
      ...this.#numbers.map(({ row, values }) => [row.name, values[place]] as const),
      ...ownRows.texts.map(({ name }, index) => [name, texts[index] === '' ? undefined : texts[index]] as const),
    ];
    return { ...this.#common[place], ...Object.fromEntries(own) } as DecisionRecord;
  }
}
