import { expect, test } from 'vitest';
import { differences, inWords, keysTwiceIn } from '../../../src/mcp/lock/comparison.ts';
import { definitionOf } from '../../../src/mcp/definition.ts';
import { type Definition, definitionKey, type Definitions } from '../../../src/model/lock.ts';

const tool = (name: string, more: object = {}): Definition => definitionOf('tool', name, { name, ...more });
const prompt = (name: string): Definition => definitionOf('prompt', name, { name });
const instructions = (text: string): Definition => definitionOf('instructions', '', text);
const approving = (...all: readonly Definition[]): Definitions =>
  new Map(all.map((each) => [definitionKey(each), each]));

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
