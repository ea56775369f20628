import { AssertionError } from 'node:assert';
import { inspect, styleText } from 'node:util';

/** The result of a step: an answer's status and challenge, a note, or both. */
export interface Finding {
  readonly status?: number;
  readonly challenge?: string | null;
  readonly note?: string;
}

/** A step failed; its line is already printed. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
}

/** Prints a walk, one line for each step, and counts the results. */
export interface Report {
  stage(title: string): void;
  /** Prints the reason for a pause. */
  wait(why: string): void;
  /**
   * Runs one step and prints its line.
   *
   * @throws {StepFailed} after the line is printed, because the following steps depend on this one.
   */
  step(state: string, title: string, run: () => Promise<Finding>): Promise<void>;
  readonly passed: number;
  readonly failed: number;
}

const stateWidth = 17;
const titleWidth = 49;

/** Makes a report; `print` gets one line at a time. */
export function createReport(print: (line: string) => void): Report {
  let passed = 0;
  let failed = 0;
  return {
    get passed() {
      return passed;
    },
    get failed() {
      return failed;
    },
    stage(title) {
      print(`\n${styleText('bold', title)}`);
    },
    wait(why) {
      print(styleText('dim', `      … ${why}`));
    },
    async step(state, title, run) {
      const begin = `${state.padEnd(stateWidth)} ${title.padEnd(titleWidth)}`;
      try {
        const { status, challenge, note } = await run();
        const details = [challenge && `WWW-Authenticate: ${challenge}`, note].filter(Boolean).join('  ');
        print(
          `${styleText('green', 'ok')}    ${begin} ${String(status ?? '').padEnd(3)} ${styleText('dim', details)}`.trimEnd(),
        );
        passed += 1;
      } catch (error) {
        failed += 1;
        print(`${styleText('red', 'FAIL')}  ${begin}`.trimEnd());
        for (const line of reasons(error)) print(`      ${line}`);
        throw new StepFailed(title, { cause: error });
      }
    },
  };
}

/** The expected and the actual value; for anything else than an assertion, the error. */
function reasons(error: unknown): readonly string[] {
  if (!(error instanceof AssertionError)) return inspect(error).split('\n');
  return [
    error.message.split('\n')[0] ?? '',
    `expected: ${inspect(error.expected)}`,
    `found:    ${inspect(error.actual)}`,
  ];
}
