import { printable } from '../config/problems.ts';
import type { Decision, Explanation } from '../model/policy.ts';
import type { Route } from '../model/route.ts';

/** An explanation for people: the decision, what each condition wanted and found, and what would change it. */
export function explanationTable(route: Route, decision: Decision, conditions: readonly Explanation[]): string {
  const denial = decision.allow ? decision.shadow : decision.denial;
  const policy = route.policy === undefined ? 'no policy: any valid token' : `policy ${route.policy.name}`;
  const verdict = decision.allow
    ? denial === undefined
      ? 'allow'
      : 'allow, but only in shadow; enforced: deny'
    : 'deny';
  const head = [`${verdict}${denial === undefined ? '' : ` ${denial.reason}`}   (route ${route.name}, ${policy})`];
  if (denial !== undefined) head.push(`  ${denial.rule}: ${printable(denial.detail)}`);
  if (denial !== undefined && denial.scope.length > 0)
    head.push(`  the challenge asks for scope "${denial.scope.join(' ')}"`);
  const rows = conditions.flatMap((each) => rowsOf(each, 0));
  const blocks = [head, columns(rows), remedies(conditions)];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

type Row = readonly [outcome: string, rule: string, wanted: string, found: string];

function rowsOf({ rule, kind, outcome, wanted, found, parts }: Explanation, depth: number): readonly Row[] {
  const words = kind === 'listed' && parts.length === 0 && outcome === 'holds' ? 'nothing more' : wanted;
  const own: Row = [outcome, `${'  '.repeat(depth)}${printable(rule)}`, printable(words), printable(found)];
  return [own, ...parts.flatMap((part) => rowsOf(part, depth + 1))];
}

function columns(rows: readonly Row[]): readonly string[] {
  if (rows.length === 0) return [];
  const all: readonly Row[] = [['', 'rule', 'wanted', 'found'], ...rows];
  const widths = [0, 1, 2].map((index) => Math.max(...all.map((row) => row[index]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** What would have to be otherwise: a scope can be asked for, a claim only be had. */
function remedies(conditions: readonly Explanation[]): readonly string[] {
  const wanted = conditions.flatMap(failing);
  if (wanted.length === 0) return [];
  return ['to be allowed:', ...wanted.map((each) => `  ${printable(each)}`)];
}

function failing({ kind, outcome, wanted, rule, parts }: Explanation): readonly string[] {
  if (outcome === 'holds') return [];
  if (kind === 'any') return [`one of: ${parts.map((part) => failing(part).join(' and ')).join(', or ')}`];
  if (kind === 'not') return [`${rule}: that its conditions do not all hold`];
  if (parts.length > 0) return parts.flatMap(failing);
  return [wanted];
}
