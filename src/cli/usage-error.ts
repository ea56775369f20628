/** Options that contradict each other or say too little; told to whoever typed them. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
