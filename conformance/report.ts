import type { Difference } from './compare.ts';
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
