import { Log } from '../../../src/core/telemetry/log.ts';

/** The lines that a log writes of what a test tells it. */
export function linesOf(act: (log: Log) => void, config: Partial<ConstructorParameters<typeof Log>[0]> = {}): string[] {
  const written: string[] = [];
  const writeText = (line: string): void => void written.push(line);
  const write = (entry: object): void => writeText(JSON.stringify(entry));
  const output = { write, writeText, dropped: 0, close: () => Promise.resolve() };
  act(new Log({ level: 'info', decisions: 'all', ...config }, output));
  return written;
}
