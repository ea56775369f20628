import { describe, expect, test } from 'vitest';
import { unknownArguments } from '../../../src/core/model/policy.ts';
import type { EntryDocument } from '../../../src/core/policy/document.ts';
import { call, decide, message } from './caller.ts';

test('reads the arguments that conditions name', () => {
  const entry: EntryDocument = { arguments: { '/a/b': 1, '/c': 2 } };
  const attempt = call('pay', {});
  expect(decide({ tools: { pay: entry, list: {} } }, {}, attempt).plan.argumentsRead(attempt)).toEqual([
    ['a', 'b'],
    ['c'],
  ]);
  expect(decide({ tools: { list: {} } }, {}, call('list')).plan.argumentsRead(call('list'))).toEqual([]);
});

test('has the words of its entry for a refusal, or else those of the policy', () => {
  const policy = { because: 'of the policy', tools: { pay: { because: 'of the entry' } } };
  expect(decide(policy, {}, call('pay')).plan).toMatchObject({ because: 'of the entry' });
  expect(decide(policy, {}, message('ping')).plan).toMatchObject({ because: 'of the policy' });
});

test('leaves out arguments that were not recorded', () => {
  const policy = { tools: { pay: { arguments: { '/amount': { at_most: 10 } } } } };
  expect(decide(policy, {}, call('pay', {})).allow).toBe(false);
  expect(decide(policy, {}, call('pay', unknownArguments)).allow).toBe(true);
});

describe('a member beside the arguments', () => {
  const decided = { arguments: { '/team': 'sales' } };
  const policy = { tools: { pay: decided, list: {} }, prompts: { sum: decided } };
  const args = { team: 'sales' };

  test('refuses a call of a tool whose arguments decide', () => {
    expect(decide(policy, {}, call('pay', args)).allow).toBe(true);
    expect(decide(policy, {}, { ...call('pay', args), otherMember: 'params.more' })).toMatchObject({
      allow: false,
      denial: {
        reason: 'argument.denied',
        rule: 'tools.pay',
        detail: 'params.more is not covered by this policy',
        scope: [],
      },
    });
  });

  test('refuses a prompt whose arguments decide', () => {
    const prompt = { ...message('prompts/get', 'prompt sum'), arguments: args };
    expect(decide(policy, {}, prompt).allow).toBe(true);
    expect(decide(policy, {}, { ...prompt, otherMember: 'params.more' })).toMatchObject({
      denial: { reason: 'argument.denied', rule: 'prompts.sum' },
    });
  });

  test('is shown with 128 characters at most', () => {
    expect(decide(policy, {}, { ...call('pay', args), otherMember: `params.${'m'.repeat(200)}` })).toMatchObject({
      denial: { detail: `params.${'m'.repeat(121)} is not covered by this policy` },
    });
  });

  test('passes where a server has nothing to read into the arguments', () => {
    expect(decide(policy, {}, { ...call('list', args), otherMember: 'params.more' }).allow).toBe(true);
  });
});
