import type { JSX } from 'preact';
import type { QuestionAnswer } from '../../src/admin/console/messages.ts';
import { Conditions } from '../decision/conditions.tsx';
import { Outcome } from '../parts/outcome.tsx';

/** The decision of the draft on the described call, and why. */
export function Answer({
  answer,
  isBroken,
}: {
  readonly answer: QuestionAnswer | undefined;
  readonly isBroken: boolean;
}): JSX.Element {
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
      {remedies.map((remedy) => (
        <p key={remedy} class="remedy">
          → {remedy}
        </p>
      ))}
      <Conditions conditions={conditions} decidedBy={kind === 'allowed' ? undefined : rule} />
      {notes
        .filter((note) => !note.startsWith('without --'))
        .map((note) => (
          <p key={note} class="muted">
            {note}
          </p>
        ))}
    </section>
  );
}
