/** An error whose message tells a person all that there is to know; shown without a stack. */
export class PlainError extends Error {
  override readonly name = 'PlainError';
}
