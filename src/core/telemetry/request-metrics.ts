import {
  Counter,
  type CounterConfiguration,
  Histogram,
  type HistogramConfiguration,
  type MetricObjectWithValues,
  type MetricType,
  type MetricValueWithName,
} from 'prom-client';
import { ensure } from '../lib/remembered.ts';

interface Cell {
  readonly labels: Readonly<Record<string, string>>;
  count: number;
}

/**
 * A counter of up to three labels for the path of every request. prom-client joins all labels into a string at each
 * increment; here that happens at a scrape.
 */
export class Tally {
  readonly #labelNames: readonly string[];
  readonly #byFirst = new Map<string, Map<string, Map<string, Cell>>>();
  readonly #cells: Cell[] = [];

  constructor(configuration: CounterConfiguration<string>) {
    this.#labelNames = configuration.labelNames ?? [];
    const cells = this.#cells;
    // The constructor registers it.
    void new Counter({
      ...configuration,
      collect() {
        for (const cell of cells) {
          this.inc(cell.labels, cell.count);
          cell.count = 0;
        }
      },
    });
  }

  /** Takes the values of the labels in order; `''` for labels that the metric does not have. */
  add(count: number, first: string, second = '', third = ''): void {
    const cell = this.#byFirst.get(first)?.get(second)?.get(third) ?? this.#begun(first, second, third);
    cell.count += count;
  }

  #begun(...values: readonly [string, string, string]): Cell {
    const labels = Object.fromEntries(this.#labelNames.map((name, at) => [name, values[at] ?? '']));
    const cell = { labels, count: 0 };
    const [first, second, third] = values;
    const bySecond = ensure(this.#byFirst, first, () => new Map<string, Map<string, Cell>>());
    ensure(bySecond, second, () => new Map<string, Cell>()).set(third, cell);
    this.#cells.push(cell);
    return cell;
  }
}

/** The observations on one route; `counts` by bucket, the last one above all bounds. */
interface Observed {
  readonly counts: number[];
  sum: number;
}

/**
 * A histogram by route for the path of every request. prom-client's own makes strings of the labels and of the bound at
 * each observation; here that happens at a scrape.
 */
export class RouteHistogram extends Histogram<'route'> {
  readonly #bounds: readonly number[];
  readonly #about: Pick<HistogramConfiguration<'route'>, 'name' | 'help'>;
  readonly #observed = new Map<string, Observed>();

  constructor(
    configuration: Omit<HistogramConfiguration<'route'>, 'labelNames' | 'buckets'> & {
      readonly buckets: readonly number[];
    },
  ) {
    super({ ...configuration, labelNames: ['route'], buckets: [...configuration.buckets] });
    this.#bounds = configuration.buckets;
    this.#about = configuration;
  }

  /** Counts `value` on `route`. */
  add(route: string, value: number): void {
    let observed = this.#observed.get(route);
    if (observed === undefined) {
      observed = { counts: [...this.#bounds, Infinity].map(() => 0), sum: 0 };
      this.#observed.set(route, observed);
    }
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket += 1;
    observed.counts[bucket] = (observed.counts[bucket] as number) + 1;
    observed.sum += value;
  }

  /** The values that are summed over several processes. */
  override async get(): Promise<MetricObjectWithValues<MetricValueWithName<'route'>>> {
    return this.getForPromString();
  }

  /** The values of the text format: the registry calls this on a histogram, although the types do not declare it. */
  async getForPromString(): Promise<MetricObjectWithValues<MetricValueWithName<'route'>>> {
    const { name, help } = this.#about;
    const values = [...this.#observed].flatMap(([route, observed]) => valuesOf(name, route, observed, this.#bounds));
    // The enum of the type does not exist at run time.
    const type = 'histogram' as unknown as MetricType.Histogram;
    return { name, help, type, aggregator: 'sum', values } as MetricObjectWithValues<MetricValueWithName<'route'>>;
  }
}

function valuesOf(
  name: string,
  route: string,
  { counts, sum }: Observed,
  bounds: readonly number[],
): readonly MetricValueWithName<'route'>[] {
  let count = 0;
  const buckets = counts.map((each, at) => {
    count += each;
    return { metricName: `${name}_bucket`, labels: { le: bounds[at] ?? '+Inf', route }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: { route }, value: sum },
    { metricName: `${name}_count`, labels: { route }, value: count },
  ];
}
