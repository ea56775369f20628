import { describe, expect, test } from 'vitest';
import { requireAgreement, type MessageHeaders } from '../../src/mcp/agreement.ts';

const modern = '2026-07-28';
const meta = { 'io.modelcontextprotocol/protocolVersion': modern };
const call = { method: 'tools/call', id: 7, params: { name: 'echo', _meta: meta }, isRequest: true };
const headers = { mcpProtocolVersion: modern, mcpMethod: 'tools/call', mcpName: 'echo' };
const none: MessageHeaders = { mcpProtocolVersion: undefined, mcpMethod: undefined, mcpName: undefined };
const claiming = (version: string) => ({
  ...call,
  params: { name: 'echo', _meta: { 'io.modelcontextprotocol/protocolVersion': version } },
});
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

describe('legacy: headers decide nothing', () => {
  test.each([
    ['no header at all', none],
    ['a legacy version', { ...none, mcpProtocolVersion: '2025-06-18' }],
    ['headers that contradict', { mcpProtocolVersion: '2025-11-25', mcpMethod: 'ping', mcpName: 'other' }],
  ])('%s', (_, given) => {
    expect(requireAgreement(given, { ...call, params: { name: 'echo' } })).toBe('legacy');
  });
});

describe('MCP 2026-07-28, Streamable HTTP §Server Validation: agreement', () => {
  test.each([
    ['as it is', headers, call],
    ['encoded', { ...headers, mcpName: base64('écho') }, { ...call, params: { name: 'écho', _meta: meta } }],
    ['with white space around', { ...headers, mcpName: ' echo ' }, call],
    [
      'a method without a name',
      { ...headers, mcpMethod: 'tools/list', mcpName: undefined },
      { ...call, method: 'tools/list' },
    ],
    ['a method whose name nobody checks', { ...headers, mcpMethod: 'ping', mcpName: 'x' }, { ...call, method: 'ping' }],
    [
      'a task',
      { ...headers, mcpMethod: 'tasks/get', mcpName: 't' },
      { ...call, method: 'tasks/get', params: { taskId: 't', _meta: meta } },
    ],
    [
      'a notification without headers but the version',
      { ...none, mcpProtocolVersion: modern },
      { ...call, method: 'notifications/x', params: {}, isRequest: false },
    ],
  ])('%s', (_, given, message) => {
    expect(requireAgreement(given, message)).toBe('modern');
  });
});

describe('MCP 2026-07-28, §Server Validation: refusals carry the request id', () => {
  test.each([
    ['message.header_mismatch', 'no version header', { ...headers, mcpProtocolVersion: undefined }, call],
    ['message.header_mismatch', 'a legacy version header', { ...headers, mcpProtocolVersion: '2025-11-25' }, call],
    ['message.header_mismatch', 'no method header', { ...headers, mcpMethod: undefined }, call],
    ['message.header_mismatch', 'another method', { ...headers, mcpMethod: 'tools/list' }, call],
    ['message.header_mismatch', 'another method in case', { ...headers, mcpMethod: 'Tools/Call' }, call],
    ['message.header_mismatch', 'no name', { ...headers, mcpName: undefined }, call],
    ['message.header_mismatch', 'another name', { ...headers, mcpName: 'admin' }, call],
    ['message.header_mismatch', 'another name in case', { ...headers, mcpName: 'Echo' }, call],
    ['message.header_mismatch', 'a broken encoding', { ...headers, mcpName: '=?base64?e?=' }, call],
    [
      'message.header_mismatch',
      'an encoding with bits left over',
      { ...headers, mcpName: '=?base64?ZWNobx==?=' },
      call,
    ],
    ['message.header_mismatch', 'an encoding of no UTF-8', { ...headers, mcpName: '=?base64?/w==?=' }, call],
    [
      'message.header_mismatch',
      'initialize',
      { ...headers, mcpMethod: 'initialize' },
      { ...call, method: 'initialize', params: {} },
    ],
    [
      'message.header_mismatch',
      'another method of a notification',
      headers,
      { ...call, method: 'notifications/x', isRequest: false },
    ],
    [
      'message.method',
      'a method of legacy revisions',
      { ...headers, mcpMethod: 'tasks/result', mcpName: undefined },
      { ...call, method: 'tasks/result' },
    ],
    ['message.meta', 'no claim', headers, { ...call, params: { name: 'echo' } }],
    ['message.meta', 'an empty _meta', headers, { ...call, params: { name: 'echo', _meta: {} } }],
    [
      'message.meta',
      'a claim of another type',
      headers,
      { ...call, params: { name: 'echo', _meta: { 'io.modelcontextprotocol/protocolVersion': 1 } } },
    ],
    ['message.version', 'an unknown header', { ...headers, mcpProtocolVersion: '2099-01-01' }, { ...call, params: {} }],
    ['message.version', 'an unknown claim', { ...headers, mcpProtocolVersion: 'x' }, claiming('x')],
    ['message.header_mismatch', 'an unknown claim beside a known header', headers, claiming('x')],
    [
      'message.header_mismatch',
      'a known claim beside an unknown header',
      { ...headers, mcpProtocolVersion: 'x' },
      call,
    ],
    ['message.header_mismatch', 'a legacy claim beside a modern header', headers, claiming('2025-11-25')],
  ])('%s: %s', (reason, _, given, message) => {
    expect(() => requireAgreement(given, message)).toThrow(expect.objectContaining({ reason, messageId: 7 }));
  });

  test.each([
    ['by its header', { ...headers, mcpProtocolVersion: 'x' }, { ...call, params: {} }, 5],
    ['by its claim, which only modern messages have', { ...headers, mcpProtocolVersion: 'x' }, claiming('x'), 1],
  ])('an unsupported version %s is told what is supported', (_, given, message, count) => {
    const legacy = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
    const data = { supported: [...legacy, modern].slice(-count), requested: 'x' };
    expect(() => requireAgreement(given, message)).toThrow(expect.objectContaining({ data }));
  });
});
