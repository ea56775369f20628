import { Counter, type CounterConfiguration } from 'prom-client';

/** Counts one more. The values of the labels, in their order: all three, `''` for those that the metric has not. */
type Count = (first: string, second: string, third: string) => void;

/** What was counted under one set of labels since it was last handed over. */
interface Tally {
  readonly labels: Readonly<Record<string, string>>;
  count: number;
}

/**
 * Creates a counter of up to three labels for the path of every request. prom-client makes a string of all labels at
 * each step; here that is left to whoever looks.
 */
export function createTally(configuration: CounterConfiguration<string>): Count {
  const { labelNames = [] } = configuration;
  const byFirst = new Map<string, Map<string, Map<string, Tally>>>();
  const all: Tally[] = [];
  // It registers itself.
  void new Counter({
    ...configuration,
    collect() {
      for (const tally of all) {
        if (tally.count > 0) this.inc(tally.labels, tally.count);
        tally.count = 0;
      }
    },
  });

  function begun(...values: readonly [string, string, string]): Tally {
    const tally = { labels: Object.fromEntries(labelNames.map((name, at) => [name, values[at] ?? ''])), count: 0 };
    const [first, second, third] = values;
    const bySecond = byFirst.get(first) ?? new Map<string, Map<string, Tally>>();
    const byThird = bySecond.get(second) ?? new Map<string, Tally>();
    byFirst.set(first, bySecond.set(second, byThird.set(third, tally)));
    all.push(tally);
    return tally;
  }

  return (first, second, third) => {
    const tally = byFirst.get(first)?.get(second)?.get(third) ?? begun(first, second, third);
    tally.count += 1;
  };
}
