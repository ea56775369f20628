/** What was waited for did not come. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * The outcome of `work`, or a rejection after `ms`. Time in which this process itself stood still is no silence of the
 * other: what comes so late gets as long again.
 */
export function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  const begun = performance.now();
  // What has been read meanwhile settles first.
  const fail = (): void => void setImmediate(() => reject(new TimeoutError(`no answer within ${ms} ms`)));
  let timer = setTimeout(() => {
    const stoodStill = performance.now() - begun > 1.5 * ms;
    if (stoodStill) timer = setTimeout(fail, ms);
    else fail();
  }, ms);
  work.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}
