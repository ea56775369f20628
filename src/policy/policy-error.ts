/** Where in a document: member names and list indexes, from the top. */
export type DocumentPath = readonly (string | number)[];

/** One mistake in a policy document. */
export interface PolicyFault {
  readonly path: DocumentPath;
  /** What was found and what would be accepted. */
  readonly message: string;
}

/** A policy document that its schema accepts and that cannot be compiled all the same; carries every fault found. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError';
  readonly faults: readonly PolicyFault[];

  constructor(policy: string, faults: readonly PolicyFault[]) {
    super(`policy ${policy}: ${faults.map(({ path, message }) => `${rulePath(path)}: ${message}`).join('; ')}`);
    this.faults = faults;
  }
}

/**
 * A path as it is written in logs and messages: `tools.transfer_funds.claims.role`, `any[0].scope`. A member name that
 * would make it ambiguous, or break a log line, is quoted: `tools["user.get"].scope`.
 */
export function rulePath(path: DocumentPath): string {
  let written = '';
  for (const step of path) {
    if (typeof step === 'number') written += `[${step}]`;
    else if (!/^[^\s.[\]"\p{C}]+$/u.test(step)) written += `[${JSON.stringify(step)}]`;
    else written += written === '' ? step : `.${step}`;
  }
  return written;
}
