import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A line of a corpus file. It has `text` if the bytes are UTF-8, otherwise `latin1`, one character for each byte. */
interface Line {
  /** Only for cases that a person wrote and for findings; other cases are named after their content. */
  readonly name?: string;
  readonly text?: string;
  readonly latin1?: string;
}

function fileOf(target: string): string {
  return fileURLToPath(new URL(`../corpus/${target}.jsonl`, import.meta.url));
}

/** The committed cases of a target, by name. */
export function readCorpus(target: string): ReadonlyMap<string, Buffer> {
  const file = fileOf(target);
  return new Map(existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').map(caseOf) : []);
}

/** Appends a case to the file of its target unless the file has the same bytes. Returns the name of the case. */
export function addCase(target: string, input: Buffer, prefix = ''): string {
  const known = [...readCorpus(target)].find(([, each]) => each.equals(input));
  if (known !== undefined) return known[0];
  const name = prefix + hashOf(input);
  appendFileSync(fileOf(target), `${lineOf(name, input)}\n`);
  return name;
}

/** The name and the bytes in a line. */
export function caseOf(line: string): readonly [name: string, input: Buffer] {
  const { name, text, latin1 } = JSON.parse(line) as Line;
  const input = latin1 === undefined ? Buffer.from(text ?? '') : Buffer.from(latin1, 'latin1');
  return [name ?? hashOf(input), input];
}

/** The line for a case. It is ASCII, so that a reviewer sees each character. */
export function lineOf(name: string, input: Buffer): string {
  const text = input.toString();
  const content = Buffer.from(text).equals(input) ? { text } : { latin1: input.toString('latin1') };
  const line: Line = name === hashOf(input) ? content : { name, ...content };
  return JSON.stringify(line).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function hashOf(input: Buffer): string {
  return createHash('sha256').update(input).digest('hex').slice(0, 12);
}
