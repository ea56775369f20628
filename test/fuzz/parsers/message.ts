import { spliceStrings } from '../../../src/lib/json/splice-strings.ts';
import { parseToRewrite } from '../../../src/lib/json/lossless.ts';
import { readMessage } from '../../../src/mcp/message.ts';
import { changedJson } from '../mutate/json.ts';
import { must, readOrReason } from './must.ts';
import type { Reader } from '../reader.ts';

interface Parsed {
  readonly method?: string;
  readonly id?: unknown;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** `Mcp-Method`, `Mcp-Name` and `MCP-Protocol-Version`, one line each (empty if absent), then a message. */
function check(input: Buffer): void {
  const ends = [0, 1, 2].reduce<readonly number[]>(
    (found) => [...found, input.indexOf('\n', (found.at(-1) ?? -1) + 1)],
    [],
  );
  if (ends.includes(-1)) return;
  const line = (i: number): string | undefined =>
    input.toString('latin1', i === 0 ? 0 : ends[i - 1]! + 1, ends[i]) || undefined;
  const body = input.subarray(ends[2]! + 1);
  const headers = { mcpMethod: line(0), mcpName: line(1), mcpProtocolVersion: line(2) };
  const read = readOrReason(() => readMessage(body, headers));
  if ('reason' in read) return;
  const message = read.value;
  const text = body.toString();
  const parsed = JSON.parse(text) as Parsed;
  must(parsed.method === message.method.name, 'another method than JSON.parse reads');
  must(numbersIn(JSON.stringify(parseToRewrite(text))) === numbersIn(text), 'other digits after parsing and writing');
  const { name, uri } = { name: undefined, uri: undefined, ...parsed.params };
  if (message.method.name === 'tools/call' || message.method.name === 'prompts/get')
    must(message.targets[0]?.name === name, 'another name');
  if (message.method.name === 'resources/read') must(message.targets[0]?.name === uri, 'another uri');
  if (message.era === 'modern' && message.method !== undefined && parsed.id !== undefined) {
    must(headers.mcpMethod === message.method.name, 'the header names another method');
  }
  const changes = message.handles.map(({ path, value }) => ({ path, from: value, to: `${value}"\\` }));
  if (changes.length > 0) {
    const spliced = spliceStrings(text, changes);
    const back = spliceStrings(
      spliced,
      changes.map(({ path, from, to }) => ({ path, from: to, to: from })),
    );
    must(
      JSON.stringify(JSON.parse(back)) === JSON.stringify(parsed),
      'another message after a change and its reversal',
    );
  }
}

/** The numbers of a JSON text as written, sorted: JSON.parse moves members with numeric keys. */
function numbersIn(text: string): string {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g) ?? [];
  return JSON.stringify(tokens.filter((token) => !token.startsWith('"')).toSorted());
}

export const message: Reader = {
  check,
  words: (
    '2026-07-28|2025-06-18|tools/call|tasks/get|=?base64?|?=|"taskId":"t"|"requestState":"s"|' +
    '"_meta":{|"id":1,|"result":{}|"uri":"a:b"|' +
    '"io.modelcontextprotocol/protocolVersion":"2026-07-28"|\n'
  ).split('|'),
  mutate: (input, random) => {
    const at = input.lastIndexOf('\n') + 1;
    return Buffer.concat([input.subarray(0, at), Buffer.from(changedJson(input.toString('utf8', at), random))]);
  },
};
