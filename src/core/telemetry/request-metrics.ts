import { Counter, type CounterConfiguration, Histogram, type HistogramConfiguration } from 'prom-client';
import { ensure } from '../lib/remembered.ts';

interface Cell {
  readonly labels: Readonly<Record<string, string>>;
  count: number;
}

/** By the values of three labels. */
type Cells = Map<string, Map<string, Map<string, Cell>>>;

function level<Value>(): Map<string, Value> {
  return new Map();
}

/**
 * A counter of up to three labels for the path of every request. prom-client sorts and joins the names and values of
 * all labels at each increment; here that happens at a scrape.
 */
export class Tally {
  readonly #labelNames: readonly string[];
  readonly #cells: Cells = new Map();

  constructor(configuration: CounterConfiguration<string>) {
    this.#labelNames = configuration.labelNames ?? [];
    const cells = this.#cells;
    // The constructor registers it.
    void new Counter({
      ...configuration,
      collect() {
        for (const seconds of cells.values())
          for (const thirds of seconds.values())
            for (const cell of thirds.values()) {
              this.inc(cell.labels, cell.count);
              cell.count = 0;
            }
      },
    });
  }

  /** Takes the values of the labels in order; `''` for labels that the metric does not have. */
  add(count: number, first: string, second = '', third = ''): void {
    const begin = (): Cell => ({ labels: this.#named([first, second, third]), count: 0 });
    // A key made of three texts would be joined and hashed for each event.
    const seconds = ensure(this.#cells, first, level<Map<string, Cell>>);
    const thirds = ensure(seconds, second, level<Cell>);
    ensure(thirds, third, begin).count += count;
  }

  #named(values: readonly string[]): Cell['labels'] {
    return Object.fromEntries(this.#labelNames.map((name, at) => [name, values[at] ?? '']));
  }
}

/** The values that wait: 1 KB for each value of the label. */
const WAITING = 128;

interface Waiting {
  readonly values: Float64Array;
  count: number;
}

/**
 * A histogram of one label for the path of every request. `observe` of prom-client takes three times as long in a
 * request as in a loop over many values: values wait until they are many, or for a scrape.
 */
export class Durations {
  readonly #labelName: string;
  readonly #histogram: Histogram;
  readonly #byLabel = new Map<string, Waiting>();

  constructor(configuration: HistogramConfiguration<string>) {
    this.#labelName = configuration.labelNames?.[0] ?? '';
    this.#histogram = new Histogram({ ...configuration, collect: () => this.#observeAll() });
  }

  /** @param label The value of its label. */
  add(label: string, seconds: number): void {
    const waiting = ensure(this.#byLabel, label, begin);
    waiting.values[waiting.count] = seconds;
    waiting.count += 1;
    if (waiting.count === WAITING) this.#observe(label, waiting);
  }

  #observeAll(): void {
    for (const [label, waiting] of this.#byLabel) this.#observe(label, waiting);
  }

  #observe(label: string, waiting: Waiting): void {
    const labels = { [this.#labelName]: label };
    for (const seconds of waiting.values.subarray(0, waiting.count)) this.#histogram.observe(labels, seconds);
    waiting.count = 0;
  }
}

function begin(): Waiting {
  return { values: new Float64Array(WAITING), count: 0 };
}
