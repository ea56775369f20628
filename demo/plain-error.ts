/** An error whose message is complete for the user; shown without a stack. */
export class PlainError extends Error {
  override readonly name = 'PlainError';
}
