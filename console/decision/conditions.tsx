import type { JSX } from 'preact';
import type { Explanation } from '../../src/core/model/policy.ts';

const icons = { holds: '✓', fails: '✕', error: '!', unknown: '?' } as const;
const groups = { any: 'one of these', all: 'all of these', not: 'not all of these', listed: 'this entry' } as const;

interface ConditionsParts {
  readonly conditions: readonly Explanation[];
  readonly decidedBy: string | undefined;
}

/** Conditions as a tree: what each wanted, and what it found. Those that decided stand out. */
export function Conditions({ conditions, decidedBy }: ConditionsParts): JSX.Element {
  return (
    <ul class="conditions">
      {nested(conditions).map((condition) => (
        <Condition key={condition.rule + condition.wanted} condition={condition} decidedBy={decidedBy} />
      ))}
    </ul>
  );
}

/** The conditions of an entry that are judged after all others, rules over time among them, below their entry. */
function nested(conditions: readonly Explanation[]): readonly Explanation[] {
  const entryOf = ({ rule }: Explanation): Explanation | undefined =>
    conditions.find((entry) => entry.kind === 'listed' && rule.startsWith(`${entry.rule}.`));
  return conditions
    .filter((condition) => entryOf(condition) === undefined)
    .map((entry) =>
      withParts(
        entry,
        conditions.filter((part) => entryOf(part) === entry),
      ),
    );
}

function withParts(entry: Explanation, parts: readonly Explanation[]): Explanation {
  return parts.length === 0 ? entry : { ...entry, parts: [...entry.parts, ...parts] };
}

interface ConditionParts {
  readonly condition: Explanation;
  readonly decidedBy: string | undefined;
}

function Condition({ condition, decidedBy }: ConditionParts): JSX.Element {
  const { rule, kind, outcome, wanted, found, parts } = condition;
  const isDecisive = decidedBy === rule && outcome !== 'holds';
  const isGroup = kind in groups;
  return (
    <li class={isDecisive ? 'condition decisive' : 'condition'}>
      <span class={`sign ${outcome}`}>
        <span aria-hidden="true">{icons[outcome]}</span>
        <span class="hidden">{outcome}</span>
      </span>
      <div>
        <code class="rule">{rule === '' ? 'the policy' : rule}</code>
        {isGroup ? (
          <span class="muted"> {parts.length === 0 ? found : groups[kind as keyof typeof groups]}</span>
        ) : (
          <dl class="compared">
            <dt>wanted</dt>
            <dd>{wanted}</dd>
            <dt>found</dt>
            <dd>{found}</dd>
          </dl>
        )}
        {parts.length > 0 && <Conditions conditions={parts} decidedBy={decidedBy} />}
      </div>
    </li>
  );
}
