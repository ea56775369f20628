/** The result of an event of a source. */
export type RevocationResult = 'kept' | 'repeated' | 'ignored' | 'not_understood' | 'refused';

/** Observes revocations. */
export interface RevocationObserver {
  counted(source: string, event: string, result: RevocationResult): void;
  /** Whether events of a source arrive; undefined: another replica sees to it. */
  sourceUp(source: string, up: boolean | undefined): void;
  event(level: 'info' | 'warn' | 'error', msg: string, fields: Readonly<Record<string, unknown>>): void;
}
