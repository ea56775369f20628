import type { JSX } from 'preact';
import type { QuestionAnswer } from '../../src/capabilities/console/messages.ts';
import { Conditions } from '../decision/conditions.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Lines } from '../parts/pairs.tsx';

interface AnswerParts {
  readonly answer: QuestionAnswer | undefined;
  readonly isBroken: boolean;
}

/** The decision of the draft on the described call, and why. */
export function Answer({ answer, isBroken }: AnswerParts): JSX.Element {
  if (isBroken) return <p class="empty">The draft has a problem: it decides nothing.</p>;
  if (answer === undefined) return <p class="empty">Loading…</p>;
  if (answer.fault !== undefined) return <p class="empty">{answer.fault}</p>;
  const { kind, unknown, detail, rule, neededScope, notes, conditions, remedies } = answer;
  return (
    <section class="answer" aria-live="polite">
      <h3>
        <Outcome kind={kind} />
        {unknown.length > 0 && <span>, if the policy accepts the {unknown.join(' and the ')}</span>}
      </h3>
      {detail !== undefined && <p>{detail}</p>}
      {neededScope.length > 0 && <p>The challenge asks for scope {neededScope.join(' ')}.</p>}
      <Lines of={remedies.map((remedy) => `→ ${remedy}`)} look="remedy" />
      <Conditions conditions={conditions} decidedBy={kind === 'allowed' ? undefined : rule} />
      <Lines of={notes.filter((note) => !note.startsWith('without --'))} />
    </section>
  );
}
