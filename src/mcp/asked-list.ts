import type { BodyFilter } from '../core/gateway/forward/answer-messages.ts';
import type { AskAboutList, GrantedCall } from '../core/model/grant.ts';
import type { McpTarget } from '../core/model/policy.ts';
import type { Rewriting } from './body-filter.ts';
import { listedTargets } from './lists.ts';

/** The most entries of one question: a point may answer each with a reason, and its answer has a limit. */
const MAX_ENTRIES = 1_000;
/** The longest name that is asked about, in UTF-16 code units. Longer ones cannot be called. */
const MAX_NAME = 1_024;

/**
 * What the decision point says of the lists in an answer: it is asked about the visible entries of a chunk in one
 * question, before the chunk is filtered. Entries beyond {@link MAX_ENTRIES} are hidden.
 */
export class AskedList {
  readonly #granted: Pick<GrantedCall, 'call' | 'grant'>;
  readonly #visible: (target: McpTarget) => boolean;
  readonly #askAboutList: AskAboutList;
  readonly #entries = new Map<string, McpTarget>();
  #allowed: ReadonlySet<string> = new Set();
  /** Gathers the entries that need an answer. */
  readonly reading: Rewriting = { concerns: () => true, rewrite: (text) => this.#gather(text), mustRead: true };

  constructor(
    granted: Pick<GrantedCall, 'call' | 'grant'>,
    visible: (target: McpTarget) => boolean,
    askAboutList: AskAboutList,
  ) {
    this.#granted = granted;
    this.#visible = visible;
    this.#askAboutList = askAboutList;
  }

  allows(target: McpTarget): boolean {
    return this.#allowed.has(keyOf(target));
  }

  /** @param reader Reads the answer by {@link reading}. */
  ask(reader: BodyFilter, chunk: Buffer | undefined): Promise<void> | undefined {
    if (chunk === undefined) reader.end();
    else reader.push(chunk);
    return this.#entries.size === 0 ? undefined : this.#askNow();
  }

  async #askNow(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    const { call, grant } = this.#granted;
    const answers = await this.#askAboutList(call, grant, entries);
    this.#allowed = new Set(entries.filter((_, index) => answers[index] === true).map(keyOf));
  }

  #gather(text: string): undefined {
    for (const target of listedTargets(text)) {
      if (this.#entries.size === MAX_ENTRIES) return;
      if (target.name.length <= MAX_NAME && this.#visible(target)) this.#entries.set(keyOf(target), target);
    }
  }
}

function keyOf({ kind, name }: McpTarget): string {
  return `${kind} ${name}`;
}

/** A filter that needs an answer of the decision point before it takes a chunk. */
export class Asking implements BodyFilter {
  readonly prepare: NonNullable<BodyFilter['prepare']>;
  readonly #filter: BodyFilter;

  constructor(filter: BodyFilter, prepare: NonNullable<BodyFilter['prepare']>) {
    this.#filter = filter;
    this.prepare = prepare;
  }

  push(chunk: Buffer): readonly Buffer[] {
    return this.#filter.push(chunk);
  }

  end(): readonly Buffer[] {
    return this.#filter.end();
  }
}
