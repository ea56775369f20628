import { columns } from './compare-cpu.ts';
import { aimsTable, markdownTable, type Line } from './table.ts';

/** The table of a scenario. */
export interface Result {
  readonly scenario: string;
  readonly about: string;
  readonly lines: readonly Line[];
}

/**
 * The tables of `bench/README.md`: the cost of the gateway by kind of request, its ratio to each contender, and the aims.
 * A table without rows is left out.
 */
export function summary(results: readonly Result[]): string {
  const compared = results.filter(({ lines }) => lines.some(({ cells }) => columns.ratio in cells));
  return [costTable(compared), ratioTable(compared), aimsTable(results)].filter(Boolean).join('\n\n');
}

/** What a request costs, and what the gateway adds to the floor. */
function costTable(results: readonly Result[]): string {
  return markdownTable(
    results.map(({ scenario, lines }) => {
      const own = lines.find(({ subject }) => subject === 'sallyport')?.cells ?? {};
      const floor = lines.find(({ subject }) => subject === 'undici-floor')?.cells ?? {};
      return {
        subject: `\`${scenario}\``,
        cells: {
          'floor, µs': floor[columns.cpu] ?? '',
          'gateway, µs': own[columns.cpu] ?? '',
          'the gateway adds, µs': floor[columns.adds] ?? '',
          'requests/s for a core': own[columns.rate] ?? '',
        },
      };
    }),
  );
}

/** The gateway's CPU time as a ratio to that of each contender, with the quartiles. */
function ratioTable(results: readonly Result[]): string {
  return markdownTable(
    results.map(({ scenario, lines }) => {
      const others = lines.filter(({ cells }) => columns.ratio in cells);
      return {
        subject: `\`${scenario}\``,
        cells: Object.fromEntries(
          others.map(({ subject, cells }) => [subject, `${cells[columns.ratio]} (${cells[columns.spread]})`]),
        ),
      };
    }),
  );
}
