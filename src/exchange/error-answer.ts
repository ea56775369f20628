/** The `error` of a token endpoint's answer, RFC 6749 §5.2, as it may be shown: a code, never what else stands there. */
export function errorCodeOf(body: unknown): string {
  const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined;
  return typeof error === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(error) ? error : 'without an error code';
}
