/** An aim of the benchmarks, and what the run has reached. */
export interface Aim {
  /** What is measured, beside the name of the scenario. */
  readonly what: string;
  readonly at: string;
  readonly reached: string;
  readonly met: boolean;
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
  return [head, head.map(() => '---'), ...rows].map(row).join('\n');
}

/** One row for each aim of the scenarios. */
export function aimsTable(results: readonly { readonly scenario: string; readonly lines: readonly Line[] }[]): string {
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

/** An upper limit of a ratio. */
export function atMost(what: string, limit: number, ratio: number): Aim {
  return { what, at: `≤ ${limit.toFixed(2)} ×`, reached: `${ratio.toFixed(2)} ×`, met: ratio <= limit };
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function verdict({ met }: Aim): string {
  return met ? 'met' : '**missed**';
}
