import type { Spread } from './statistics.ts';

/** An aim of the benchmarks, and what the run has reached. */
export interface Aim {
  /** What is measured, beside the name of the scenario. */
  readonly what: string;
  readonly at: string;
  readonly reached: string;
  readonly met: boolean;
  /** Whether the run fails if it is missed. Default: false. */
  readonly isGate?: boolean;
}

/** A row of a scenario's table. */
export interface Line {
  readonly subject: string;
  /** The cells by column. */
  readonly cells: Readonly<Record<string, string>>;
  readonly aims?: readonly Aim[] | undefined;
}

/** A Markdown table of lines, with each column that some line has. Empty without lines. */
export function markdownTable(lines: readonly Line[]): string {
  if (lines.length === 0) return '';
  const columns = [...new Set(lines.flatMap(({ cells }) => Object.keys(cells)))];
  const hasAims = lines.some(({ aims = [] }) => aims.length > 0);
  const head = ['', ...columns, ...(hasAims ? ['aim', ''] : [])];
  const rows = lines.map(({ subject, cells, aims = [] }) => [
    subject,
    ...columns.map((column) => cells[column] ?? ''),
    ...(hasAims ? [aims.map(({ at }) => at).join(', '), aims.map(verdict).join(', ')] : []),
  ]);
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The table of a scenario. */
export interface Result {
  readonly scenario: string;
  readonly about: string;
  readonly lines: readonly Line[];
}

/** One row for each aim of the scenarios. */
export function aimsTable(results: readonly Result[]): string {
  return markdownTable(
    results.flatMap(({ scenario, lines }) =>
      lines.flatMap(({ aims = [] }) =>
        aims.map((aim) => ({
          subject: `\`${scenario}\`, ${aim.what}`,
          cells: { aim: aim.at, reached: aim.reached, verdict: verdict(aim) },
        })),
      ),
    ),
  );
}

/** The gates that a run has not passed, in words. */
export function missedGates(results: readonly Result[]): readonly string[] {
  return results.flatMap(({ scenario, lines }) =>
    lines.flatMap(({ aims = [] }) =>
      aims.flatMap(({ what, at, reached, met, isGate = false }) =>
        isGate && !met ? [`${scenario}, ${what}: ${reached}, and ${at} passes`] : [],
      ),
    ),
  );
}

/** An upper limit, of a ratio by default. */
export function atMost(what: string, limit: number, reached: number, written: (value: number) => string = times): Aim {
  return { what, at: `≤ ${written(limit)}`, reached: written(reached), met: reached <= limit };
}

/** A ratio. */
export function times(ratio: number): string {
  return `${ratio.toFixed(2)} ×`;
}

/** The median of ratios, and the quartiles. */
export function timesSpread({ median, low, high }: Spread): string {
  return `${times(median)} (${low.toFixed(2)}–${times(high)})`;
}

/** Whole milliseconds. */
export function milliseconds(ms: number): string {
  return `${ms.toFixed(0)} ms`;
}

function verdict({ met }: Aim): string {
  return met ? 'met' : '**missed**';
}
