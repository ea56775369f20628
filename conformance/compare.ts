import type { Check, Results } from './suite.ts';

/** One check that did not come out alike on both ways; `undefined` where it was not made at all. */
export interface Difference {
  readonly scenario: string;
  readonly direct: Check | undefined;
  readonly through: Check | undefined;
}

/**
 * Every check whose outcome differs. The suite makes the checks of a scenario one after the other and repeats ids, so
 * that they are compared by their place. So is how many messages it saw: no event may be lost or added on the way.
 */
export function differencesOf(scenarios: readonly string[], direct: Results, through: Results): readonly Difference[] {
  return scenarios.flatMap((scenario) => {
    const one = direct.get(scenario) ?? [];
    const other = through.get(scenario) ?? [];
    return (one.length > other.length ? one : other)
      .map((_, i) => ({ scenario, direct: one[i], through: other[i] }))
      .filter((pair) => outcome(pair.direct) !== outcome(pair.through) && !isMended(pair));
  });
}

/** The gateway answers a handle that it never gave out itself, where the fixture knows nothing of tasks: no loss. */
function isMended({ direct, through }: Difference): boolean {
  return direct?.status === 'FAILURE' && through?.status === 'SUCCESS' && direct.id === through.id;
}

function outcome(check: Check | undefined): string {
  return JSON.stringify([check?.id, check?.name, check?.status, check?.details?.messagesValidated]);
}
