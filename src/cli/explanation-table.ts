import { printable } from '../lib/wording.ts';
import type { Explanation } from '../model/policy.ts';
import { type Explained, remediesIn } from '../review/explained.ts';
import { coloured } from './colour.ts';

/** An explanation for programs. */
export function explanationJson(explained: Explained): string {
  const { route, policy, allow, unknown, shadow, reason, detail, rule, neededScope, notes, conditions } = explained;
  const needed = neededScope.length === 0 ? undefined : neededScope;
  const depends = unknown.length === 0 ? undefined : unknown.map((what) => what.replaceAll(' ', '_'));
  const members = {
    route,
    policy,
    allow,
    depends_on: depends,
    shadow,
    reason,
    detail,
    rule,
    needed_scope: needed,
    notes,
    conditions,
  };
  return `${JSON.stringify(members, null, 2)}\n`;
}

/** An explanation for people: the decision, what each condition wanted and found, and what would change it. */
export function explanationTable(explained: Explained): string {
  const { route, decidedBy, reason, detail, rule, neededScope, notes, conditions } = explained;
  const verdict = coloured(explained.allow ? 'good' : 'bad', verdictOf(explained));
  const place = route === undefined ? 'no route' : `route ${printable(route)}`;
  const head = [
    `${verdict}${reason === undefined ? '' : ` ${printable(reason)}`}   (${place}, ${printable(decidedBy)})`,
  ];
  if (detail !== undefined) head.push(`  ${printable(rule === undefined ? detail : `${rule}: ${detail}`)}`);
  if (neededScope.length > 0) head.push(`  the challenge asks for scope "${printable(neededScope.join(' '))}"`);
  head.push(...notes.map((note) => `  ${printable(note)}`));
  const rows = conditions.flatMap((each) => rowsOf(each, conditions));
  const blocks = [head, columns(rows), remedies(conditions)];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function verdictOf({ allow, shadow, unknown }: Explained): string {
  if (!allow) return 'deny';
  if (shadow) return 'allow, but only in shadow; enforced: deny';
  return unknown.length === 0 ? 'allow' : `allow, if the policy accepts the ${unknown.join(' and the ')}`;
}

type Row = readonly [outcome: string, rule: string, wanted: string, found: string];

function rowsOf(
  { rule, kind, outcome, wanted, found, parts }: Explanation,
  all: readonly Explanation[],
  depth = 0,
): readonly Row[] {
  const words = kind === 'listed' && parts.length === 0 && outcome === 'holds' ? wantedBy(rule, all) : wanted;
  const own: Row = [outcome, `${'  '.repeat(depth)}${printable(rule)}`, printable(words), printable(found)];
  return [own, ...parts.flatMap((part) => rowsOf(part, all, depth + 1))];
}

/** What an entry wants that has no conditions of its own. Its rules over time have rows of their own. */
function wantedBy(entry: string, all: readonly Explanation[]): string {
  const isOverTime = all.some(({ kind, rule }) => kind === 'history' && rule.startsWith(`${entry}.`));
  return isOverTime ? 'nothing but its rules over time' : 'nothing more';
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

function remedies(conditions: readonly Explanation[]): readonly string[] {
  const wanted = remediesIn(conditions);
  return wanted.length === 0 ? [] : ['to be allowed:', ...wanted.map((each) => `  ${printable(each)}`)];
}
