import { expect, test } from 'vitest';
import { EventFilter } from '../../src/mcp/event-filter.ts';
import { JsonFilter } from '../../src/mcp/body-filter.ts';
import type { GrantedCall } from '../../src/core/model/grant.ts';
import type { McpTarget } from '../../src/core/model/policy.ts';
import { AskedList, Asking } from '../../src/mcp/asked-list.ts';

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

const list = (...names: readonly string[]): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: names.map((name) => ({ name })) } });

/** A list of what `visible` lets through, the names of each question about it, and what it then allows of `names`. */
function answering(answers: readonly boolean[], visible: (target: McpTarget) => boolean = () => true) {
  const questions: string[][] = [];
  const asked = new AskedList({} as GrantedCall, visible, (_call, _grant, targets) => {
    questions.push(targets.map(({ name }) => name));
    return Promise.resolve(answers);
  });
  const allowed = (...names: readonly string[]) => names.filter((name) => asked.allows({ kind: 'tool', name }));
  return { asked, questions, allowed };
}

test('an entry is shown if the decision point allows it, and hidden without an answer', async () => {
  const { asked, allowed } = answering([false, true]);
  const reader = new JsonFilter(asked.reading);
  await asked.ask(reader, Buffer.from(list('a', 'b', 'c')));
  expect(allowed('a', 'b', 'c')).toEqual([]);
  await asked.ask(reader, undefined);
  expect(allowed('a', 'b', 'c')).toEqual(['b']);
});

test('each chunk is one question, about its own entries that the policy lets through', async () => {
  const { asked, questions, allowed } = answering([true], ({ name }) => name !== 'hidden');
  const reader = new EventFilter(asked.reading);
  const event = (...names: readonly string[]): Buffer => Buffer.from(`data: ${list(...names)}\n\n`);
  await asked.ask(reader, event('a', 'hidden'));
  expect([questions, allowed('a')]).toEqual([[['a']], ['a']]);
  await asked.ask(reader, event('b', 'c'));
  expect([questions, allowed('a', 'b', 'c')]).toEqual([[['a'], ['b', 'c']], ['b']]);
});

test('an answer without entries needs no question', () => {
  const { asked, questions } = answering([]);
  expect(asked.ask(new EventFilter(asked.reading), Buffer.from(`data: ${list()}\n\n`))).toBeUndefined();
  expect(questions).toEqual([]);
});

test('a list that the gateway cannot read is refused', () => {
  const { asked } = answering([]);
  const reader = new JsonFilter(asked.reading);
  expect(asked.ask(reader, Buffer.from('{"result":"\xff"}', 'latin1'))).toBeUndefined();
  expect(() => asked.ask(reader, undefined)).toThrow(expect.objectContaining({ reason: 'upstream.invalid' }));
});

test('the filter that needs answers changes nothing else', () => {
  const changing = { concerns: () => true, rewrite: () => 'changed', mustRead: true };
  const prepare = (): undefined => undefined;
  const asking = new Asking(new JsonFilter(changing), prepare);
  expect(asking.prepare).toBe(prepare);
  expect(asking.push(Buffer.from('{}'))).toEqual([]);
  expect(asking.end()).toEqual([Buffer.from('changed')]);
});
