import type { WriteStream } from 'node:tty';
import { printable } from '../lib/wording.ts';
import { calledIn, type DecisionRecord } from '../model/decision.ts';
import { coloured } from './colour.ts';
import { timeOf } from './decision-log.ts';

/** Decisions as a table for people. */
export interface LogTable {
  /**
   * A line for each decision, all aligned; before the first one, that of the titles. A refusal has a second line, with
   * its id and its detail, whole.
   */
  rows(decisions: readonly DecisionRecord[]): string;
}

const titles = ['time (UTC)', 'decision', 'subject', 'client', 'route', 'called', 'address'] as const;
/** The widths for 117 columns. The first two do not grow: a time, and the longest usual reason. */
const widths = [14, 20, 16, 12, 12, 16, 15] as const;
const FIXED = 2;
const GAP = '  ';
const USUAL_COLUMNS = 117;
/** Narrower columns say nothing. */
const MIN_WIDTH = 8;

/**
 * Creates a table. On a terminal, a value that is too long for its column is cut; in a file or a pipe it is whole, and
 * its column stays as wide. The callers chose some of the values: characters that a terminal obeys are replaced.
 */
export function createTable(output: Pick<WriteStream, 'isTTY' | 'columns'>): LogTable {
  let columns = widthsFor(output.isTTY ? output.columns : USUAL_COLUMNS);
  let begun = false;

  function line(cells: readonly string[], decorate = (padded: string) => padded): string {
    const padded = cells.map((cell, index) => {
      const width = columns[index] ?? 0;
      return (output.isTTY ? cut(cell, width) : cell).padEnd(width);
    });
    return `${padded
      .with(1, decorate(padded[1] ?? ''))
      .join(GAP)
      .trimEnd()}\n`;
  }

  return {
    rows(decisions) {
      const rows = decisions.map((decision) => ({ decision, cells: cellsOf(decision) }));
      if (!output.isTTY) {
        columns = columns.map((width, index) => Math.max(width, ...rows.map(({ cells }) => cells[index]?.length ?? 0)));
      }
      const titled = begun || rows.length === 0 ? '' : line(titles);
      begun ||= rows.length > 0;
      const lines = rows.map(
        ({ decision, cells }) => line(cells, (padded) => coloured(colourOf(decision), padded)) + refusal(decision),
      );
      return titled + lines.join('');
    },
  };
}

function cellsOf(decision: DecisionRecord): readonly string[] {
  const { clientId, route, address } = decision;
  const cells = [
    timeOf(decision).slice(5, 19).replace('T', ' '),
    verdict(decision),
    namesOf(decision).join(' '),
    clientId,
    route,
    calledIn(decision),
    address,
  ];
  return cells.map((cell) => printable(cell ?? ''));
}

/** Names of a caller: the subject, and the claims of `log.claims`, which say who that is. */
export function namesOf({ subject, claims = {} }: DecisionRecord): readonly string[] {
  return [subject, ...Object.values(claims).map(String)].filter((each) => each !== undefined);
}

function refusal({ allow, shadow, id, detail = '' }: DecisionRecord): string {
  if (allow && !shadow) return '';
  return `${' '.repeat(widths[0])}${GAP}${printable(`${id}${GAP}${detail}`).trim()}\n`;
}

function colourOf({ allow, shadow }: DecisionRecord): 'warning' | 'good' | 'bad' {
  if (shadow) return 'warning';
  return allow ? 'good' : 'bad';
}

function verdict({ allow, shadow, reason = '' }: DecisionRecord): string {
  if (shadow) return `shadow ${reason}`;
  return allow ? 'allow' : reason;
}

function widthsFor(columns: number): readonly number[] {
  const fixed = widths.slice(0, FIXED).reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
  const shares = USUAL_COLUMNS - fixed;
  return widths.map((width, index) =>
    index < FIXED ? width : Math.max(MIN_WIDTH, Math.floor(((columns - fixed) * width) / shares)),
  );
}

/** Characters as people count them, so that none is cut in two. */
const segmenter = new Intl.Segmenter();

function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  return characters.length > width ? `${characters.slice(0, width - 1).join('')}…` : text;
}
