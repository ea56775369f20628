import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createJsonLines } from '../../src/telemetry/json-lines.ts';

test('values of a caller are one line without control characters, and parse to the same values', async () => {
  const output = new PassThrough();
  const lines = createJsonLines(output);
  const odd = 'a\r\nb\u001b[2J\u007f\u0085\u009b31m\u2028\u2029\u202e\u2066ü送💸"\\';
  lines.write({ tool: odd });
  lines.write({ tool: 'plain' });
  await lines.close();
  output.end();
  const written = await text(output);
  expect(written).not.toMatch(/[^\n -~\u00a0-\u2027\u202f-\u2065\u206a-\uffff]/);
  expect(
    written
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([{ tool: odd }, { tool: 'plain' }]);
});
