import type { Check, Results } from './suite.ts';

/** A check with different outcomes, directly and through the gateway. `undefined` if it was not made. */
export interface Difference {
  readonly scenario: string;
  readonly direct: Check | undefined;
  readonly through: Check | undefined;
}

/**
 * All checks with different outcomes, also better ones: a gateway that answers in place of the server differs from it.
 * The suite repeats ids, so that checks are compared by their position in a scenario. The number of messages is
 * compared too, because the gateway must not lose or add an event.
 */
export function differencesOf(scenarios: readonly string[], direct: Results, through: Results): readonly Difference[] {
  return scenarios.flatMap((scenario) => {
    const one = direct.get(scenario) ?? [];
    const other = through.get(scenario) ?? [];
    return (one.length > other.length ? one : other)
      .map((_, i) => ({ scenario, direct: one[i], through: other[i] }))
      .filter((pair) => outcome(pair.direct, scenario) !== outcome(pair.through, scenario));
  });
}

/** In the task scenarios the suite polls until a task has ended, so that the number of messages varies. */
const polls = /^tasks-/;

function outcome(check: Check | undefined, scenario: string): string {
  const messages = polls.test(scenario) ? undefined : check?.details?.messagesValidated;
  return JSON.stringify([check?.id, check?.name, check?.status, messages]);
}
