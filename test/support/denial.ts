import { Denial } from '../../src/core/model/denial.ts';

/** What an attempt returns, or the Denial that it throws. */
export function orDenial<Result>(attempt: () => Result): Result | Denial {
  try {
    return attempt();
  } catch (error) {
    return denialOf(error);
  }
}

/** What an attempt returns, or the reason of the Denial that it throws. */
export function orReason<Result>(attempt: () => Result): Result | string {
  const result = orDenial(attempt);
  return result instanceof Denial ? result.reason : result;
}

/** What a promise brings, or the reason of the Denial that it is rejected with. */
export function outcomeOf<Result>(promise: Promise<Result>): Promise<Result | string> {
  return promise.catch((error: unknown) => denialOf(error).reason);
}

function denialOf(error: unknown): Denial {
  if (error instanceof Denial) return error;
  throw error;
}
