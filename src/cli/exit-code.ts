/** What a command ends with: done; refused or failed; wrong usage. */
export type ExitCode = 0 | 1 | 2;
