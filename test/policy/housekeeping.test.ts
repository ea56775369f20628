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
  'subscriptions/listen',
  'tasks/get',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/',
])('R-91: %s keeps house', (method) => {
  expect(isHousekeeping(method)).toBe(true);
});

test.each([
  '',
  'tools/call',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/get',
  'completion/complete',
  'tasks/',
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
