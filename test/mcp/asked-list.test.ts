import { expect, test } from 'vitest';
import { JsonFilter } from '../../src/mcp/body-filter.ts';
import type { GrantedCall } from '../../src/core/model/grant.ts';
import type { McpTarget } from '../../src/core/model/policy.ts';
import { AskedList } from '../../src/mcp/asked-list.ts';

/** The names that a decision point is asked about, which allows all of them, and those that a client then sees. */
async function asked(names: readonly string[]): Promise<Record<'asked' | 'seen', readonly string[]>> {
  let entries: readonly McpTarget[] = [];
  const list = new AskedList(
    {} as GrantedCall,
    () => true,
    (_call, _grant, targets) => {
      entries = targets;
      return Promise.resolve(targets.map(() => true));
    },
  );
  const reader = new JsonFilter(list.reading);
  const tools = names.map((name) => ({ name }));
  await list.ask(reader, Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } })));
  await list.ask(reader, undefined);
  const seen = names.filter((name) => list.allows({ kind: 'tool', name }));
  return { asked: entries.map(({ name }) => name), seen };
}

test('a decision point is asked about 1,000 entries of a list, and the others are hidden', async () => {
  const names = Array.from({ length: 1_005 }, (_, index) => `tool-${index}`);
  const first = names.slice(0, 1_000);
  expect(await asked(names)).toEqual({ asked: first, seen: first });
});

test('an entry whose name is too long to be called is hidden', async () => {
  const [longest, longer] = ['a'.repeat(1_024), 'b'.repeat(1_025)];
  expect(await asked([longest, longer])).toEqual({ asked: [longest], seen: [longest] });
});
