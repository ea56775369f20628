import { expect, test } from 'vitest';
import { listedFromStart } from '../../src/mcp/lists.ts';
import { message as listing } from '../policy/caller.ts';

test.for([
  ['tools/list', {}, 'tool'],
  ['tools/list', { params: { _meta: { cursor: '1' } } }, 'tool'],
  ['prompts/list', { params: {} }, 'prompt'],
  ['tools/list', { params: { cursor: '1' } }, undefined],
  ['prompts/list', { params: { cursor: null } }, undefined],
  ['resources/list', {}, undefined],
  ['resources/templates/list', {}, undefined],
  ['tasks/list', {}, undefined],
  ['tools/call', {}, undefined],
] as const)('%s with %j lists %s from the first page', ([method, message, kind]) => {
  const attempt = listing(method);
  expect(listedFromStart({ attempt, body: Buffer.from(JSON.stringify({ method, ...message })) })).toBe(kind);
});

test('a call without a message lists nothing', () => {
  expect(listedFromStart({ attempt: listing(undefined), body: undefined })).toBeUndefined();
  expect(listedFromStart({ attempt: listing('tools/list'), body: undefined })).toBeUndefined();
  expect(listedFromStart({ attempt: { kind: 'http' }, body: undefined })).toBeUndefined();
});
