import { scanJson } from '../../../src/lib/json/scanner.ts';
import { JsonScanError } from '../../../src/lib/json/tokens.ts';
import { changedJson } from '../mutate/json.ts';
import { must } from './must.ts';
import type { Reader } from '../reader.ts';

const limits = { depth: 32, members: 200 };

/** A JSON text: all readers agree on a text that the scanner accepts, and it refuses all that JSON.parse refuses. */
function check(input: Buffer): void {
  const text = input.toString();
  let refused: JsonScanError | undefined;
  try {
    scanJson(text, limits);
  } catch (error) {
    if (!(error instanceof JsonScanError)) throw error;
    refused = error;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    must(refused !== undefined, 'JSON.parse refuses it');
    return;
  }
  if (refused?.kind === 'malformed') throw new Error(`JSON.parse reads it: ${refused.message}`);
  if (refused !== undefined) return;
  // JSON.stringify writes a lone surrogate as an escape. A double backslash is not an escape.
  must(!/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(value)), 'a lone surrogate');
  const keys = keysOf(text);
  must(
    keys.every((list) => new Set(list.map((key) => key.normalize('NFKC').toLowerCase())).size === list.length),
    'keys that look alike',
  );
}

/** The keys of each object, with repetitions, by a second reader: tokens and a stack. */
function keysOf(text: string): string[][] {
  const all: string[][] = [];
  const open: (string[] | undefined)[] = [];
  const tokens = [...text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)].map(([token]) => token);
  for (const [i, token] of tokens.entries()) {
    if (token === '{') all.push(open[open.push([]) - 1] as string[]);
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (tokens[i + 1] === ':') open.at(-1)?.push(JSON.parse(token) as string);
  }
  return all;
}

export const json: Reader = {
  check,
  words: '{|}|[|]|,|:|"|"a":|\\u0061|\\ud800|null|1e400|-|true|\u212a|\u017f|"A":1| '.split('|'),
  mutate: (input, random) => Buffer.from(changedJson(input.toString(), random)),
};
