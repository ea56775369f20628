/** Why a request failed, in one line: the code or the message of the innermost cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  if (inner instanceof Error) return reasonOf(inner);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
