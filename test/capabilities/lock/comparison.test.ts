import { describe, expect, test } from 'vitest';
import { differences, inWords, keysTwiceIn, LockComparison } from '../../../src/capabilities/lock/comparison.ts';
import { StrictCalls } from '../../../src/capabilities/lock/strict-calls.ts';
import { definitionOf, definitionsIn } from '../../../src/mcp/guarded-message.ts';
import { type Definition, definitionKey, type Definitions } from '../../../src/mcp/definitions.ts';

const tool = (name: string, more: object = {}): Definition => definitionOf('tool', name, { name, ...more });
const [pay, read, evil] = [tool('pay'), tool('read'), tool('pay', { title: 'evil' })];
const approving = (...all: readonly Definition[]): Definitions =>
  new Map(all.map((each) => [definitionKey(each), each]));

function verdict(comparison: LockComparison, name: string): string {
  const found = comparison.verdict({ kind: 'tool', name });
  return typeof found === 'string' ? found : inWords(found);
}

test('nothing is verified before it was shown, and what was not approved never is', () => {
  const comparison = new LockComparison(approving(pay, read));
  expect(verdict(comparison, 'pay')).toBe('unverified');
  expect(verdict(comparison, 'other')).toBe('tool "other" is new');
  comparison.pass([pay]);
  expect(verdict(comparison, 'pay')).toBe('approved');
  expect(verdict(comparison, 'read')).toBe('unverified');
  comparison.look([pay]);
  expect(verdict(comparison, 'read')).toBe('approved');
  expect(comparison.differing()).toEqual([]);
});

test('the newest sighting of a definition counts', () => {
  const comparison = new LockComparison(approving(pay, read));
  comparison.look([pay, read]);
  comparison.pass([evil]);
  expect(verdict(comparison, 'pay')).toBe('tool "pay": title changed');
  // A list without it says nothing of it.
  comparison.pass([read]);
  comparison.look([read]);
  expect(verdict(comparison, 'pay')).toBe('tool "pay": title changed');
  comparison.look([pay]);
  expect(verdict(comparison, 'pay')).toBe('approved');
});

test('a look does not undo what passed since it began', () => {
  const comparison = new LockComparison(approving(pay, read));
  comparison.look([pay, read]);
  comparison.pass([evil]);
  comparison.beginLook();
  comparison.pass([evil, tool('other')]);
  expect(comparison.look([pay, read])).toEqual([]);
  expect(verdict(comparison, 'pay')).toBe('tool "pay": title changed');
  expect(comparison.differing().map(inWords)).toContain('tool "other" is new');
  // The next look begins after it.
  comparison.beginLook();
  comparison.look([pay, read]);
  expect(verdict(comparison, 'pay')).toBe('approved');
  expect(comparison.differing()).toEqual([]);
});

test('returns only what it did not know', () => {
  const comparison = new LockComparison(approving(pay));
  expect(comparison.pass([pay, read])).toEqual([
    { definition: pay, isTwice: false },
    { definition: { ...read, members: {} }, isTwice: false },
  ]);
  expect(comparison.pass([read, pay])).toEqual([]);
  expect(comparison.look([read, pay])).toEqual([]);
  expect(comparison.adopt([{ definition: pay, isTwice: false }])).toEqual([]);
  expect(comparison.adopt([{ definition: evil, isTwice: false }])).toHaveLength(1);
  expect(verdict(comparison, 'pay')).toBe('tool "pay": title changed');
});

describe('twice', () => {
  test('in one list that passes, until it stands there once', () => {
    const comparison = new LockComparison(approving(pay));
    comparison.pass([pay, pay]);
    expect(verdict(comparison, 'pay')).toBe('tool "pay" appears twice');
    comparison.pass([pay]);
    expect(verdict(comparison, 'pay')).toBe('approved');
  });

  test('in all pages of a look, until another look: a page that passes shows only one of both', () => {
    const comparison = new LockComparison(approving(pay));
    comparison.look([pay, read, pay]);
    comparison.pass([pay]);
    expect(verdict(comparison, 'pay')).toBe('tool "pay" appears twice');
    comparison.look([pay]);
    expect(verdict(comparison, 'pay')).toBe('approved');
  });
});

test('another lock is compared with what was seen before', () => {
  const comparison = new LockComparison(approving(pay));
  comparison.look([evil, read, read]);
  expect(comparison.differing().map(inWords)).toEqual(['tool "pay": title changed', 'tool "read" is new']);
  const next = comparison.with(approving(evil, read));
  expect(verdict(next, 'pay')).toBe('approved');
  expect(next.differing().map(inWords)).toEqual(['tool "read" appears twice']);
  next.pass([read]);
  expect(verdict(next, 'read')).toBe('tool "read" appears twice');
  expect(verdict(new LockComparison(approving(pay)).with(approving(pay)), 'pay')).toBe('unverified');
});

describe('what was not approved', () => {
  const plan = definitionOf('prompt', 'plan', { name: 'plan' });
  const gone = (definition: Definition) => ({
    definition: { ...definition, members: {} },
    isTwice: false,
    isGone: true as const,
  });

  test('is forgotten once the server no longer shows it', () => {
    const comparison = new LockComparison(approving(pay));
    comparison.look([pay, read, tool('other'), plan]);
    expect(comparison.look([pay, read])).toEqual([gone(tool('other')), gone(plan)]);
    expect(comparison.differing().map(inWords)).toEqual(['tool "read" is new']);
  });

  test('is forgotten once a whole list of its kind passes without it, and no page', () => {
    const comparison = new LockComparison(approving(pay));
    comparison.pass([pay, read, tool('other')]);
    comparison.pass([plan]);
    expect(comparison.pass([pay])).toEqual([]);
    expect(comparison.pass([], 'prompt')).toEqual([gone(plan)]);
    expect(comparison.pass([pay, read], 'tool')).toEqual([gone(tool('other'))]);
    expect(comparison.pass([pay, read], 'tool')).toEqual([]);
    expect(comparison.differing().map(inWords)).toEqual(['tool "read" is new']);
  });

  test('is forgotten once another process saw that it is gone', () => {
    const comparison = new LockComparison(approving(pay));
    comparison.pass([read]);
    expect(comparison.adopt([gone(read)])).toEqual([gone(read)]);
    expect(comparison.adopt([gone(read)])).toEqual([]);
    expect(comparison.differing()).toEqual([]);
  });

  test('is all that is forgotten: a tool that changed and is then missing stays refused', () => {
    const comparison = new LockComparison(approving(pay));
    comparison.look([evil]);
    expect([comparison.look([]), comparison.pass([], 'tool'), comparison.adopt([gone(pay)])]).toEqual([[], [], []]);
    expect(verdict(comparison, 'pay')).toBe('tool "pay": title changed');
    expect(comparison.differing()).toHaveLength(1);
  });

  test('cannot fill the memory, nor push out what was approved', () => {
    const comparison = new LockComparison(approving(pay));
    comparison.look([evil]);
    const many = Array.from({ length: 1001 }, (_, index) => tool(`t${index}`));
    comparison.pass(many);
    expect(comparison.differing()).toHaveLength(1001);
    expect(verdict(comparison, 'pay')).toBe('tool "pay": title changed');
    expect(comparison.differing().map(({ name }) => name)).not.toContain('t0');
    expect(comparison.differing().map(({ name }) => name)).toContain('t1');
  });

  test('is not remembered by a very long name, and stays refused', () => {
    const comparison = new LockComparison(approving(pay));
    expect(comparison.look([tool('x'.repeat(257))])).toEqual([]);
    expect(comparison.look([tool('x'.repeat(256))])).toHaveLength(1);
    expect(comparison.verdict({ kind: 'tool', name: 'x'.repeat(257) })).toMatchObject({ difference: 'new' });
  });
});

const prompt = (name: string): Definition => definitionOf('prompt', name, { name });
const instructions = (text: string): Definition => definitionOf('instructions', '', text);
const found = (approved: Definitions, ...shown: readonly Definition[]): readonly string[] =>
  differences(approved, shown).map(inWords);

test('finds none in what was approved, in any order', () => {
  const all = [tool('pay'), prompt('pay'), instructions('Pay.')];
  expect(found(approving(...all), ...all.toReversed())).toEqual([]);
});

test('names what changed, is new, appears twice or is gone, sorted', () => {
  const approved = approving(tool('pay', { title: 'a', constructor: 1 }), tool('read'), tool('old'), instructions('a'));
  const shown = [tool('read'), tool('pay', { title: 'b', description: 'c' }), tool('read'), prompt('pay'), tool('pay')];
  expect(found(approved, ...shown)).toEqual([
    'instructions is gone',
    'prompt "pay" is new',
    'tool "old" is gone',
    'tool "pay": constructor, title changed',
    'tool "read" appears twice',
  ]);
});

test('a change is what counts of one that also appears twice', () => {
  const changed = tool('pay', { title: 'b' });
  expect(found(approving(tool('pay')), changed, changed)).toEqual(['tool "pay": title changed']);
});

test('changed instructions have no members', () => {
  expect(found(approving(instructions('a')), instructions('b'))).toEqual(['instructions changed']);
});

test('a lock without members names none', () => {
  const approved = approving({ ...tool('pay'), members: {} });
  expect(found(approved, tool('pay', { title: 'b' }))).toEqual(['tool "pay" changed']);
});

test('what has no canonical text was never approved', () => {
  const broken = definitionOf('tool', 'pay', { name: 'pay', title: '\ud800' });
  expect(found(approving(tool('pay')), broken)).toEqual(['tool "pay": name changed']);
});

test('finds the keys that stand more than once', () => {
  expect([...keysTwiceIn([tool('a'), prompt('a'), tool('b'), tool('a'), tool('a')])]).toEqual(['tool a']);
});

describe('with calls: strict', () => {
  const read = (entry: object): Definition => definitionsIn('tool', [entry])[0] as Definition;
  const typed = read({ name: 'pay', inputSchema: { type: 'object' } });
  const untyped = read({ name: 'pay' });

  test('an approved tool whose schemas cannot be used differs, and a prompt of its name does not', () => {
    const samePrompt = prompt('pay');
    const comparison = new LockComparison(approving(untyped, samePrompt), new StrictCalls());
    comparison.look([untyped, samePrompt]);
    const changed = { kind: 'tool', name: 'pay', difference: 'changed', members: [], fault: 'no inputSchema' };
    expect(comparison.differing()).toEqual([changed]);
    expect(comparison.verdict(untyped)).toEqual(changed);
    expect(verdict(comparison, 'pay')).toBe('tool "pay" its schemas cannot be used: no inputSchema');
    expect(comparison.verdict(samePrompt)).toBe('approved');
  });

  test('a change is what counts of a tool whose approved schemas cannot be used', () => {
    const comparison = new LockComparison(approving(untyped), new StrictCalls());
    comparison.look([untyped]);
    comparison.look([read({ name: 'pay', title: 'evil' })]);
    expect(verdict(comparison, 'pay')).toBe('tool "pay": title changed');
  });

  test('another lock takes the schemas that were seen before', () => {
    const comparison = new LockComparison(approving(typed), new StrictCalls());
    comparison.look([typed]);
    expect(comparison.sightings()).toEqual([{ definition: typed, isTwice: false }]);
    expect(comparison.with(approving(typed), new StrictCalls()).strict?.has('pay')).toBe(true);
  });

  test('a tool that is known without its schemas is noted again with them, and only then', () => {
    const comparison = new LockComparison(approving(typed), new StrictCalls());
    const { schemas, ...bare } = typed;
    expect(schemas).toBeDefined();
    expect(comparison.pass([bare])).toHaveLength(1);
    expect(comparison.pass([bare])).toEqual([]);
    expect(comparison.pass([typed])).toEqual([{ definition: typed, isTwice: false }]);
    expect(comparison.pass([typed])).toEqual([]);
  });
});

test('a tool that another one calls is approved where the server hides it, by a name that is remembered', () => {
  const comparison = new LockComparison(approving(pay));
  comparison.look([pay]);
  expect([256, 257].map((length) => comparison.innerVerdict('x'.repeat(length)))).toMatchObject([
    'approved',
    { difference: 'new' },
  ]);
});
