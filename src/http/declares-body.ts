/** Whether a request's header section announces a body, RFC 9112 §6.3. */
export function declaresBody(fields: {
  readonly transferEncoding: string | undefined;
  readonly contentLength: string | undefined;
}): boolean {
  return fields.transferEncoding !== undefined || Number(fields.contentLength ?? 0) !== 0;
}
