import { expect, test } from 'vitest';
import { startConsoleWorld } from '../capabilities/console/world.ts';
import type { DraftAnswer } from '../../src/capabilities/console/messages.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(startConsoleWorld);

async function draft(text: string, question?: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(`${world.adminUrl}/console/draft`, {
    method: 'POST',
    headers: { origin: world.adminUrl, 'x-sallyport-console': '1' },
    body: JSON.stringify({ policy: 'demo-tools', text, question }),
  });
}

const levels = 13_500;
const lines = (line: (indent: string) => string): string =>
  Array.from({ length: 230 }, (_, level) => line(' '.repeat(level))).join('');

// test/core/config/yaml-file.test.ts has the table of texts.
test.each([
  ['brackets', '['.repeat(levels)],
  ['indented keys', lines((indent) => `${indent}not:\n`)],
])('a draft of 27 KB with deep %s is refused before it is parsed, and the gateway goes on', async (_what, text) => {
  const answer = (await (await draft(text)).json()) as DraftAnswer;
  expect(answer.problems).toEqual([
    {
      line: expect.any(Number) as number,
      column: expect.any(Number) as number,
      message: 'nested 65 levels deep: at most 64 levels are accepted',
    },
  ]);
  expect(await world.call({ scope: 'read' }, 'get_balance')).toBe(200);
});

test('a draft that ends its process is refused, the gateway goes on, and tries the next draft', async () => {
  // A pattern is compiled recursively.
  const text = `scope: read\nclaims: { role: { matches: "${'('.repeat(levels)}${')'.repeat(levels)}" } }\n`;
  const refused = await draft(text);
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringMatching(/^The draft /)]);
  expect(await world.call({ scope: 'read' }, 'get_balance')).toBe(200);
  expect(await (await draft('scope: read\n')).json()).toMatchObject({ problems: [] });
});

test('the calls before a described call nest no deeper', async () => {
  const question = { name: 'get_balance', scope: 'read', history: '['.repeat(levels) };
  const answer = (await (await draft('scope: read\n', question)).json()) as DraftAnswer;
  expect(answer.answer).toEqual({
    fault: 'history:1:65: nested 65 levels deep: at most 64 levels are accepted',
  });
});
