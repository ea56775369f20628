import type { JSX } from 'preact';
import { type OutcomeKind, outcomeKinds } from '../../src/core/model/outcome-kind.ts';

/** The outcomes, in the order of their plots. */
export const outcomes = Object.keys(outcomeKinds) as readonly OutcomeKind[];

/** Colour never stands alone. */
const icons: Readonly<Record<OutcomeKind, string>> = {
  allowed: '✓',
  challenged: '?',
  refused: '✕',
  unavailable: '!',
  shadow: '◐',
};

/** An outcome with its icon and its word. */
export function Outcome({ kind }: { readonly kind: OutcomeKind }): JSX.Element {
  return (
    <span class={`outcome ${kind}`}>
      <span class="icon" aria-hidden="true">
        {icons[kind]}
      </span>
      {kind}
    </span>
  );
}
