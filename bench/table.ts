/** A row of a scenario's table. */
export interface Line {
  readonly subject: string;
  /** The cells by column. */
  readonly cells: Readonly<Record<string, string>>;
  readonly aim?: { readonly at: string; readonly met: boolean } | undefined;
}

/** A Markdown table of lines, with each column that some line has. */
export function markdownTable(lines: readonly Line[]): string {
  const columns = [...new Set(lines.flatMap(({ cells }) => Object.keys(cells)))];
  const hasAims = lines.some(({ aim }) => aim !== undefined);
  const head = ['', ...columns, ...(hasAims ? ['aim', ''] : [])];
  const rows = lines.map(({ subject, cells, aim }) => [
    subject,
    ...columns.map((column) => cells[column] ?? ''),
    ...(hasAims ? [aim?.at ?? '', verdict(aim)] : []),
  ]);
  return [head, head.map(() => '---'), ...rows].map(row).join('\n');
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function verdict(aim: Line['aim']): string {
  if (aim === undefined) return '';
  return aim.met ? 'met' : '**missed**';
}
