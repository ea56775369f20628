import { readFileSync } from 'node:fs';

/** Names one mutant by its function and its change. The function may move to another file. */
export interface MutantName {
  /** The nearest named function, or the constant of the module. `outer.inner` if several functions have the name. */
  readonly in: string;
  /** Stryker's name for the kind of change. */
  readonly mutator: string;
  /** The position in source order, from 1, among those with the same replacement. Needed if there are several. */
  readonly nth: number | undefined;
  /** The replacement. Needed if the function has several mutants of the mutator. */
  readonly to: string | undefined;
}

/**
 * Mutants that no test can notice. In the file a reason is a line, and below it each mutant is one: the function, the
 * mutator, perhaps a number, and perhaps the replacement after a colon. `speed`: the code only saves time. `type`: the
 * check only narrows a type for the compiler.
 */
export const equivalents: readonly MutantName[] = readFileSync(new URL('equivalents.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('  '))
  .map((line) => {
    const [, where, mutator, nth, to] = /^ {2}(\S+) (\w+)(?: (\d+))?(?:: (.*))?$/.exec(line) ?? [];
    if (where === undefined || mutator === undefined) throw new Error(`equivalents.txt: not a mutant: ${line}`);
    return { in: where, mutator, nth: nth === undefined ? undefined : Number(nth), to };
  });
