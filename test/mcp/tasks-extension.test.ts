import { expect, test } from 'vitest';
import { declaresTasks } from '../../src/mcp/tasks-extension.ts';

const declaring = (capabilities: unknown): object => ({
  _meta: { 'io.modelcontextprotocol/clientCapabilities': capabilities },
});

test.each([
  ['with settings', declaring({ extensions: { 'io.modelcontextprotocol/tasks': { a: 1 } } }), true],
  ['without', declaring({ extensions: { 'io.modelcontextprotocol/tasks': {} } }), true],
  ['another extension', declaring({ extensions: { 'io.modelcontextprotocol/skills': {} } }), false],
  ['the capability of 2025-11-25', declaring({ tasks: {} }), false],
  ['no extensions', declaring({}), false],
  ['no object', declaring('tasks'), false],
  ['null', declaring({ extensions: null }), false],
  ['null as _meta', { _meta: null }, false],
  ['nothing', {}, false],
])('a request declares tasks: %s', (_, params, wanted) => {
  expect(declaresTasks(params as Record<string, unknown>)).toBe(wanted);
});
