import type { Check, Results } from './suite.ts';

/** The results of some scenarios of a revision, directly and through the gateway. */
export interface Row {
  readonly revision: string;
  /** Whether the suite scores them. */
  readonly scored: boolean;
  readonly scenarios: readonly string[];
  readonly direct: Results;
  readonly through: Results;
  readonly differences: readonly Difference[];
}

/** The heading of the table that {@link rowText} fills. */
export const heading = line('revision', 'scenarios', 'direct', 'through', 'different');

/** A line of the table: passed checks of all passed and failed checks. */
export function rowText({ revision, scored, scenarios, direct, through, differences }: Row): string {
  const kind = `${scenarios.length} ${scored ? 'scored' : 'not scored'}`;
  return line(revision, kind, passed(scenarios, direct), passed(scenarios, through), String(differences.length));
}

/** A difference, on two lines below its scenario. */
export function differenceText({ scenario, direct, through }: Difference): string {
  return `${scenario}\n  direct   ${checkText(direct)}\n  through  ${checkText(through)}`;
}

/** The outcome of a check, in one line. */
export function checkText(check: Check | undefined): string {
  if (check === undefined) return 'no such check';
  const { status, id, name, errorMessage = '', details } = check;
  const messages = details?.messagesValidated === undefined ? '' : `${details.messagesValidated} messages `;
  return `${status} ${id} (${name}) ${messages}${errorMessage}`.trimEnd();
}

function passed(scenarios: readonly string[], results: Results): string {
  const checks = scenarios.flatMap((scenario) => results.get(scenario) ?? []);
  const count = (wanted: Check['status']): number => checks.filter(({ status }) => status === wanted).length;
  return `${count('SUCCESS')}/${count('SUCCESS') + count('FAILURE')}`;
}

function line(revision: string, scenarios: string, direct: string, through: string, different: string): string {
  return `${revision.padEnd(12)}${scenarios.padEnd(16)}${direct.padEnd(10)}${through.padEnd(10)}${different}`;
}

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
