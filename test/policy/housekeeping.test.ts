import { expect, test } from 'vitest';
import { isHousekeeping } from '../../src/policy/housekeeping.ts';

test.each([
  undefined,
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
  'logging/setLevel',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/',
])('%s keeps house', (method) => {
  expect(isHousekeeping(method)).toBe(true);
});

test.each([
  '',
  'tools/call',
  'resources/read',
  'resources/subscribe',
  'subscriptions/listen',
  'prompts/get',
  'completion/complete',
  'tasks/get',
  'tasks/list',
  'Ping',
  'ping ',
  'initialize/x',
  'notifications',
  'Notifications/x',
  'constructor',
])('%j does not', (method) => {
  expect(isHousekeeping(method)).toBe(false);
});
