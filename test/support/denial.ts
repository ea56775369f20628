import { Denial } from '../../src/model/denial.ts';
import type { Reason } from '../../src/model/reasons.ts';

/** What an attempt returns, or the reason of the Denial that it throws. */
export function orReason<Result>(attempt: () => Result): Result | Reason {
  try {
    return attempt();
  } catch (error) {
    if (error instanceof Denial) return error.reason;
    throw error;
  }
}
