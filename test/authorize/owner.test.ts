import { describe, expect, test } from 'vitest';
import {
  createBindEventId,
  createBindHandles,
  createSessionId,
  eventOwner,
  ownerOf,
} from '../../src/authorize/owner.ts';
import { lengthPrefixed } from '../../src/lib/length-prefixed.ts';
import type { HandleBinding } from '../../src/mcp/handles-binding.ts';
import { createOwnerBound } from '../../src/mcp/owner-bound.ts';
import type { Grant } from '../../src/model/grant.ts';
import { callerKey, type Principal } from '../../src/model/principal.ts';
import type { Route } from '../../src/model/route.ts';

const tools = { name: 'tools', protocol: 'mcp' } as Route;
const issuer = 'https://issuer.example';
/** Without a name: a token that names neither a subject nor a client. */
const callerOf = (subject?: string, clientId?: string): Principal =>
  ({ issuer, callerKey: callerKey({ issuer, subject, clientId }) }) as Principal;
const alice = callerOf('alice', 'app');

describe('what a session belongs to', () => {
  test.each([
    ['on a public route everybody', undefined, ['tools']],
    ['a person, whatever client speaks for them', alice, ['tools', issuer, 'subject', 'alice']],
    ['a client that speaks for nobody else', callerOf(undefined, 'app'), ['tools', issuer, 'client', 'app']],
    ['a person without a client', callerOf('alice'), ['tools', issuer, 'subject', 'alice']],
  ])('%s', (_who, principal, owner) => expect(ownerOf(tools, principal)).toBe(lengthPrefixed(owner)));

  test('RFC 7662 §2.2: both may be absent; nobody shares nothing, not even with themselves', () => {
    const nobody = callerOf();
    expect(ownerOf(tools, nobody)).toMatch(/^5:tools22:https:\/\/issuer\.example6:nobody36:[\da-f-]{36}$/);
    expect(ownerOf(tools, nobody)).not.toEqual(ownerOf(tools, nobody));
  });
});

describe('Mcp-Session-Id', () => {
  const sessions = createOwnerBound('a key of at least thirty-two characters');
  const by = (era: 'legacy' | 'modern'): Grant => ({ principal: alice, action: { era } }) as Grant;

  test('is bound to who got it', () => {
    const bound = createSessionId(tools, sessions)('theirs', by('legacy')) ?? '';
    expect(bound).not.toBe('theirs');
    expect(sessions.unbind(bound, ownerOf(tools, alice))).toBe('theirs');
  });

  test('is none in MCP 2026-07-28, which has no sessions', () => {
    expect(createSessionId(tools, sessions)('theirs', by('modern'))).toBeUndefined();
  });

  test('means nothing to us where a route is not MCP', () => {
    expect(createSessionId({ ...tools, protocol: 'http' }, sessions)('theirs', by('legacy'))).toBe('theirs');
  });
});

test('binds the id of an event, in the bytes of a header, to the caller and the session', () => {
  const sessions = createOwnerBound('a key of at least thirty-two characters');
  const bound = createBindEventId(tools, sessions)('1\xe9', { principal: alice } as Grant, 'session');
  const given = Buffer.from(sessions.unbind(bound, eventOwner(tools, alice, 'session')) ?? '', 'base64url');
  expect(given.toString('latin1')).toBe('1\xe9');
  expect(bound).toMatch(/^[\w.-]+$/);
  const bob = callerOf('bob', 'app');
  expect(sessions.unbind(bound, eventOwner(tools, bob, 'session'))).toBeUndefined();
  expect(sessions.unbind(bound, eventOwner(tools, alice, 'other'))).toBeUndefined();
  expect(sessions.unbind(bound, eventOwner(tools, alice, undefined))).toBeUndefined();
});

test('binds the handles of an answer to the caller and the request, of tasks only those that the action says', () => {
  const asked: unknown[] = [];
  const handles = { bindAll: (...given: unknown[]) => String(asked.push(...given)) } as unknown as HandleBinding;
  const [tasks, owner] = [new Set(['a']), lengthPrefixed(['tools', issuer, 'subject', 'alice'])];
  const targets = [{ kind: 'tool', name: 'pay' }];
  const attempt = { kind: 'mcp', method: 'tools/call', targets };
  const grantOf = (action: object): Grant => ({ principal: alice, action }) as unknown as Grant;
  expect(createBindHandles(tools, handles)('text', grantOf({ tasks, attempt }))).toBe('3');
  createBindHandles(tools, handles)('more', grantOf({ tasks: undefined, attempt: { kind: 'http' } }));
  expect(asked).toEqual([
    'text',
    { owner, method: 'tools/call', targets },
    tasks,
    'more',
    { owner, method: undefined, targets: [] },
    undefined,
  ]);
});
