import type { ShownList } from '../../core/model/events.ts';

/** The lists of which entries were withheld, by the ids of their decisions. */
const MAX_LISTS = 500;
/** The upstream chooses the names: as many, and as much of each, as the log has. */
const MAX_NAMES = 64;
const MAX_NAME = 128;

/** A list as the console shows it. */
export interface KeptList extends Omit<ShownList, 'method'> {
  /** How many more entries were withheld. */
  readonly more: number;
}

/** The newest lists of which entries were withheld, at most 8 MB: the oldest are evicted first. */
export class RecentLists {
  readonly #lists = new Map<string, KeptList>();

  add(decision: string, { shown, withheld, by }: ShownList): void {
    const names = withheld.slice(0, MAX_NAMES).map((name) => name.slice(0, MAX_NAME));
    this.#lists.set(decision, { shown, withheld: names, more: withheld.length - names.length, by });
    const [oldest] = this.#lists.keys();
    if (this.#lists.size > MAX_LISTS && oldest !== undefined) this.#lists.delete(oldest);
  }

  of(decision: string): KeptList | undefined {
    return this.#lists.get(decision);
  }
}
