import { Denial } from '../../src/model/denial.ts';
import { kindOf } from '../kind-of.ts';

/** What `read` gives, or the reason for which it refuses; any other error is a finding. */
export function readOrReason<Value>(read: () => Value): { readonly value: Value } | { readonly reason: string } {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof Denial) return { reason: `${error.reason} ${kindOf(error.detail)}` };
    throw error;
  }
}

/** Ends the case with a finding unless `holds`. */
export function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

/** Whether some server ends a decoded path before its end, or takes it apart where it has no slash. */
export function isCut(path: string): boolean {
  return /[;\\]/.test(path) || path.split('').some((character) => character < ' ' || character === '\x7f');
}
