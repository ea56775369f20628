import type { Check, Results } from './suite.ts';

/** One check that did not come out alike on both ways; `undefined` where it was not made at all. */
export interface Difference {
  readonly scenario: string;
  readonly direct: Check | undefined;
  readonly through: Check | undefined;
}

/**
 * Every check whose outcome differs, for the better too: a gateway that answers in the place of a server differs from it.
 * The suite makes the checks of a scenario one after the other and repeats ids, so that they are compared by their place.
 * So is how many messages it saw: no event may be lost or added on the way.
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

/** In the scenarios of tasks the suite asks again until a task has ended: how often is a matter of time. */
const polls = /^tasks-/;

function outcome(check: Check | undefined, scenario: string): string {
  const messages = polls.test(scenario) ? undefined : check?.details?.messagesValidated;
  return JSON.stringify([check?.id, check?.name, check?.status, messages]);
}
