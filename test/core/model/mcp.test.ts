import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { givingNotifications, knownRequests, mcpMethod, mistakenFor } from '../../../src/core/model/mcp.ts';
import { decide, message } from '../policy/caller.ts';
import { words } from '../../support/words.ts';

describe('what a policy does not have to list', () => {
  test.each([
    undefined,
    ...words(`
    initialize ping server/discover tools/list resources/list resources/templates/list prompts/list
    logging/setLevel subscriptions/listen tasks/get tasks/result tasks/update tasks/cancel
    notifications/initialized notifications/cancelled notifications/ notifications/widgets/list
    notifications/x-vendor notifications/tools/call`),
  ])('R-91: %s is housekeeping', (method) => {
    expect(mcpMethod(method).allowedBy).toBe('housekeeping');
  });

  test.each([
    '',
    'ping ',
    ...words(`
    tools/call resources/read resources/subscribe resources/unsubscribe prompts/get completion/complete tasks/
    tasks/list Ping initialize/x notifications Notifications/x constructor`),
  ])('%j is not', (method) => {
    expect(mcpMethod(method).allowedBy).not.toBe('housekeeping');
  });
});

describe('a list without a row', () => {
  test.each(['widgets/list', 'tasks/archive/list', 'Widgets/List'])('%s: no pattern allows it', (method) => {
    const patterns = { '*': {}, 'widgets/*': {}, '*/list': {} };
    expect(decide({ methods: patterns }, {}, message(method)).allow).toBe(false);
    expect(decide({ methods: { ...patterns, [method]: {} } }, {}, message(method)).allow).toBe(true);
  });

  test('of tasks shows handles, as every method of tasks does', () => {
    expect(mcpMethod('tasks/archive/list')).toMatchObject({ isTask: true, handles: mcpMethod('tasks/get').handles });
  });
});

describe('another spelling of a method of MCP', () => {
  test.each([
    ['Tools/Call', 'tools/call'],
    ['TASKS/GET', 'tasks/get'],
    ['Tasks/get', 'tasks/get'],
    ['TOOLS/LIST', 'tools/list'],
    ['Resources/read', 'resources/read'],
    ['logging/setlevel', 'logging/setLevel'],
    ['tools/list.', 'tools/list'],
    ['tools/call\u200b', 'tools/call'],
    ['tool\u017f/call', 'tools/call'],
    ['tools/call ', 'tools/call'],
    [' ping', 'ping'],
  ])('%j reads as %s', (method, meant) => expect(mistakenFor(method)).toBe(meant));

  test.each([
    '',
    ...words('tools/call tasks/update notifications/x vendor/run tools/calls tools/call2 x/Tools logging/setLevel'),
  ])('%j reads as no other', (method) => expect(mistakenFor(method)).toBeUndefined());
});

test('no other file of the core, nor of mcp/, names a method of MCP', () => {
  const names = new Set([...knownRequests.keys(), ...givingNotifications.keys(), 'tasks/', 'notifications/']);
  const naming = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter(
      (path) => path.endsWith('.ts') && !path.startsWith('capabilities') && path !== join('core', 'model', 'mcp.ts'),
    )
    .filter((path) =>
      [...readFileSync(join('src', path), 'utf8').matchAll(/'([^'\n]+)'/g)].some(([, text = '']) => names.has(text)),
    );
  expect(naming).toEqual([]);
});
