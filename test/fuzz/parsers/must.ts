import { Denial } from '../../../src/model/denial.ts';

/** The result of `read`, or the reason of its refusal. Any other error is a finding. */
export function readOrReason<Value>(read: () => Value): { readonly value: Value } | { readonly reason: string } {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof Denial) return { reason: error.reason };
    throw error;
  }
}

/** Ends the case with a finding if `holds` is false. */
export function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

/** Whether some server cuts a decoded path short, or splits it at a character other than a slash. */
export function isCut(path: string): boolean {
  return /[;\\]/.test(path) || path.split('').some((character) => character < ' ' || character === '\x7f');
}
