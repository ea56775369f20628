/** RFC 9110 §10.2.3 `delay-seconds`: whole ones, after which the wait is over for certain; never `0`, which is now. */
export function retryAfterSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1000));
}
