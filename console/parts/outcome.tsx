import type { JSX } from 'preact';
import type { OutcomeKind } from '../../src/admin/console/messages.ts';

/** The outcomes, in the order of their plots: colour never stands alone. */
export const outcomes: readonly { readonly kind: OutcomeKind; readonly icon: string; readonly word: string }[] = [
  { kind: 'allowed', icon: '✓', word: 'allowed' },
  { kind: 'asked', icon: '?', word: 'asked' },
  { kind: 'refused', icon: '✕', word: 'refused' },
  { kind: 'shadow', icon: '◐', word: 'shadow' },
];

/** An outcome with its icon and its word. */
export function Outcome({ kind }: { readonly kind: OutcomeKind }): JSX.Element {
  const { icon, word } = outcomes.find((each) => each.kind === kind) ?? { icon: '', word: kind };
  return (
    <span class={`outcome ${kind}`}>
      <span class="icon" aria-hidden="true">
        {icon}
      </span>
      {word}
    </span>
  );
}
