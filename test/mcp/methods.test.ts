import { describe, expect, test } from 'vitest';
import { mistakenFor } from '../../src/mcp/methods.ts';

describe('another spelling of a method of MCP', () => {
  test.each([
    ['Tools/Call', 'tools/call'],
    ['TASKS/GET', 'tasks/get'],
    ['tools/call ', 'tools/call'],
    [' ping', 'ping'],
  ])('%j reads as %s', (method, meant) => expect(mistakenFor(method)).toBe(meant));

  test.each(['tools/call', 'tasks/update', 'notifications/x', 'vendor/run', 'tools/calls', ''])(
    '%j reads as no other',
    (method) => expect(mistakenFor(method)).toBeUndefined(),
  );
});
