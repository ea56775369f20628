import { Counter, type CounterConfiguration } from 'prom-client';
import { ensure } from '../lib/remembered.ts';

interface Cell {
  readonly labels: Readonly<Record<string, string>>;
  count: number;
}

/**
 * A counter of up to three labels for the path of every request. prom-client sorts and joins the names and values of
 * all labels at each increment; here that happens at a scrape.
 */
export class Tally {
  readonly #labelNames: readonly string[];
  readonly #cells = new Map<string, Cell>();

  constructor(configuration: CounterConfiguration<string>) {
    this.#labelNames = configuration.labelNames ?? [];
    const cells = this.#cells;
    // The constructor registers it.
    void new Counter({
      ...configuration,
      collect() {
        for (const cell of cells.values()) {
          this.inc(cell.labels, cell.count);
          cell.count = 0;
        }
      },
    });
  }

  /** Takes the values of the labels in order; `''` for labels that the metric does not have. */
  add(count: number, first: string, second = '', third = ''): void {
    const begin = (): Cell => ({ labels: this.#named([first, second, third]), count: 0 });
    ensure(this.#cells, `${first}\n${second}\n${third}`, begin).count += count;
  }

  #named(values: readonly string[]): Cell['labels'] {
    return Object.fromEntries(this.#labelNames.map((name, at) => [name, values[at] ?? '']));
  }
}
