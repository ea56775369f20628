import { describe, expect, test } from 'vitest';
import {
  createBindEventIds,
  createBindHandles,
  createSessionId,
  eventOwner,
  ownerOf,
} from '../../../src/pipeline/authorize/owner.ts';
import { lengthPrefixed } from '../../../src/lib/length-prefixed.ts';
import type { HandleBinding } from '../../../src/mcp/handles-binding.ts';
import { createOwnerBound } from '../../../src/mcp/owner-bound.ts';
import type { Grant } from '../../../src/model/grant.ts';
import { callerKey, type Principal } from '../../../src/model/principal.ts';
import type { Route } from '../../../src/model/route.ts';
import { mcpMethod } from '../../../src/model/mcp.ts';

const tools = { name: 'tools', protocol: 'mcp' } as Route;
const issuer = 'https://issuer.example';
/** Without a name: a token that names neither a subject nor a client. */
const callerOf = (subject?: string, clientId?: string): Principal =>
  ({ issuer, callerKey: callerKey({ issuer, subject, clientId }) }) as Principal;
const alice = callerOf('alice', 'app');

describe('the owner of a session', () => {
  test.each([
    ['every caller of a public route', undefined, ['tools']],
    ['a person, whatever client speaks for them', alice, ['tools', issuer, 'subject', 'alice']],
    ['a client that acts for no user', callerOf(undefined, 'app'), ['tools', issuer, 'client', 'app']],
    ['a person without a client', callerOf('alice'), ['tools', issuer, 'subject', 'alice']],
  ])('%s', (_who, principal, owner) => expect(ownerOf(tools, principal)).toBe(lengthPrefixed(owner)));

  test('RFC 7662 §2.2: without subject and client, no two requests have the same owner', () => {
    const unknown = callerOf();
    expect(ownerOf(tools, unknown)).toMatch(/^5:tools22:https:\/\/issuer\.example12:unidentified36:[\da-f-]{36}$/);
    expect(ownerOf(tools, unknown)).not.toEqual(ownerOf(tools, unknown));
  });
});

describe('Mcp-Session-Id', () => {
  const sessions = createOwnerBound('a key of at least thirty-two characters');
  const by = (era: 'legacy' | 'modern'): Grant => ({ principal: alice, action: { era } }) as Grant;

  test('is bound to its owner', () => {
    const bound = createSessionId(tools, sessions)('theirs', by('legacy')) ?? '';
    expect(bound).not.toBe('theirs');
    expect(sessions.unbind(bound, ownerOf(tools, alice))).toBe('theirs');
  });

  test('is dropped in MCP 2026-07-28, which has no sessions', () => {
    expect(createSessionId(tools, sessions)('theirs', by('modern'))).toBeUndefined();
  });

  test('passes unchanged on an HTTP route', () => {
    expect(createSessionId({ ...tools, protocol: 'http' }, sessions)('theirs', by('legacy'))).toBe('theirs');
  });
});

test('binds the ids of a stream, in the bytes of a header, to the caller and the session', () => {
  const sessions = createOwnerBound('a key of at least thirty-two characters');
  const bind = createBindEventIds(tools, sessions)({ principal: alice } as Grant, 'session');
  const bound = bind('1\xe9');
  for (const [id, client] of Object.entries({ '1\xe9': bound, 2: bind('2') })) {
    const given = Buffer.from(sessions.unbind(client, eventOwner(tools, alice, 'session')) ?? '', 'base64url');
    expect(given.toString('latin1')).toBe(id);
  }
  expect(bound).toMatch(/^[\w.-]+$/);
  const bob = callerOf('bob', 'app');
  expect(sessions.unbind(bound, eventOwner(tools, bob, 'session'))).toBeUndefined();
  expect(sessions.unbind(bound, eventOwner(tools, alice, 'other'))).toBeUndefined();
  expect(sessions.unbind(bound, eventOwner(tools, alice, undefined))).toBeUndefined();
});

test('binds the handles of an answer to the caller and the request, and only the tasks that the action names', () => {
  const asked: unknown[] = [];
  const handles = { bindAll: (...given: unknown[]) => String(asked.push(...given)) } as unknown as HandleBinding;
  const [tasks, owner] = [new Map([['a', undefined]]), lengthPrefixed(['tools', issuer, 'subject', 'alice'])];
  const targets = [{ kind: 'tool', name: 'pay' }];
  const attempt = { kind: 'mcp', method: mcpMethod('tools/call'), targets };
  const grantOf = (action: object): Grant => ({ principal: alice, action }) as unknown as Grant;
  expect(createBindHandles(tools, handles)('text', grantOf({ tasks, attempt }), 'counted')).toBe('3');
  createBindHandles(tools, handles)('more', grantOf({ tasks: undefined, attempt: { kind: 'http' } }), undefined);
  expect(asked).toEqual([
    'text',
    { owner, method: 'tools/call', targets, counted: 'counted' },
    tasks,
    'more',
    { owner, method: undefined, targets: [] },
    undefined,
  ]);
});
