import type { NamedComparison, NamedDifference } from '../policy/compare/compare.ts';
import { printable } from '../lib/wording.ts';
import { flowYaml } from '../review/flow-yaml.ts';

/** What an edit means, for people: the policies with their differences, each with its witness. */
export function comparisonText({ differences, undecided }: NamedComparison): string {
  const policies = [...new Set([...differences, ...undecided].map(({ policy }) => policy))];
  if (policies.length === 0) return 'nothing differs\n';
  return policies.map((name) => section(name, { differences, undecided })).join('\n');
}

function section(name: string, { differences, undecided }: NamedComparison): string {
  const own = differences.filter(({ policy }) => policy === name).flatMap(lines);
  const open = undecided.filter(({ policy }) => policy === name);
  const all = [name, ...own, ...open.map(({ rule, why }) => `  undecided: ${rule}${gap}${why}`)];
  return `${all.map(printable).join('\n')}\n`;
}

const gap = ' '.repeat(12);

function lines(difference: NamedDifference): readonly string[] {
  const { kind, rule, witness } = difference;
  const about = witness === undefined && kind !== 'rules over time changed' ? '' : `: ${rule}`;
  const change = changeOf(difference);
  const head = `  ${kind}${about}${change === '' ? '' : gap}${change}`;
  if (witness === undefined) return [head];
  return [head, `    given: ${flowYaml(witness.given)}`, `    when: ${flowYaml(witness.when)}`];
}

/** What was decided, and what is decided now; `allow` is in the kind of difference. */
function changeOf({ kind, was, now }: NamedDifference): string {
  const quoted = kind === 'asked for other scopes' ? JSON.stringify : String;
  const sides = [
    ...(was === undefined || kind === 'newly refused' ? [] : [`was ${quoted(was)}`]),
    ...(now === undefined || kind === 'newly allowed' ? [] : [`now ${quoted(now)}`]),
  ];
  return sides.join(', ');
}

/** The same as JSON. A member that a difference does not have is null. */
export function comparisonJson({ differences, undecided }: NamedComparison): string {
  const rows = differences.map(({ policy, kind, rule = null, was = null, now = null, witness }) => {
    return { policy, kind, rule, was, now, given: witness?.given ?? null, when: witness?.when ?? null };
  });
  const open = undecided.map(({ policy, rule, why }) => ({ policy, rule, why }));
  return `${JSON.stringify({ differences: rows, undecided: open }, undefined, 2)}\n`;
}
