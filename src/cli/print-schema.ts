import { schemas } from '../config/schema.ts';
import type { ExitCode } from './exit-code.ts';

/** `sallyport schema`: a committed JSON Schema on stdout. */
export function printSchema(language: keyof typeof schemas): ExitCode {
  process.stdout.write(`${JSON.stringify(schemas[language], undefined, 2)}\n`);
  return 0;
}
