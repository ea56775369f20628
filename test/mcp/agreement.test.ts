import { describe, expect, test } from 'vitest';
import { requireAgreement, type MessageHeaders } from '../../src/mcp/agreement.ts';

const modern = '2026-07-28';
const meta = { 'io.modelcontextprotocol/protocolVersion': modern };
const call = { method: 'tools/call', id: 7, params: { name: 'echo', _meta: meta }, isRequest: true };
const headers = { mcpProtocolVersion: modern, mcpMethod: 'tools/call', mcpName: 'echo' };
const none: MessageHeaders = { mcpProtocolVersion: undefined, mcpMethod: undefined, mcpName: undefined };
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
    ['a method without a name', { ...headers, mcpMethod: 'tools/list', mcpName: undefined }, { ...call, method: 'tools/list' }],
    ['a method whose name nobody checks', { ...headers, mcpMethod: 'ping', mcpName: 'x' }, { ...call, method: 'ping' }],
    ['a task', { ...headers, mcpMethod: 'tasks/get', mcpName: 't' }, { ...call, method: 'tasks/get', params: { taskId: 't', _meta: meta } }],
    ['a notification without headers but the version', { ...none, mcpProtocolVersion: modern }, { ...call, method: 'notifications/x', params: {}, isRequest: false }],
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
    ['message.header_mismatch', 'an encoding with bits left over', { ...headers, mcpName: '=?base64?ZWNobx==?=' }, call],
    ['message.header_mismatch', 'an encoding of no UTF-8', { ...headers, mcpName: '=?base64?/w==?=' }, call],
    ['message.header_mismatch', 'initialize', { ...headers, mcpMethod: 'initialize' }, { ...call, method: 'initialize', params: {} }],
    ['message.header_mismatch', 'another method of a notification', headers, { ...call, method: 'notifications/x', isRequest: false }],
    ['message.meta', 'no claim', headers, { ...call, params: { name: 'echo' } }],
    ['message.meta', 'an empty _meta', headers, { ...call, params: { name: 'echo', _meta: {} } }],
    ['message.meta', 'a claim of another type', headers, { ...call, params: { name: 'echo', _meta: { 'io.modelcontextprotocol/protocolVersion': 1 } } }],
    ['message.version', 'an unknown header', { ...headers, mcpProtocolVersion: '2099-01-01' }, call],
    ['message.version', 'an unknown claim', headers, { ...call, params: { _meta: { 'io.modelcontextprotocol/protocolVersion': 'x' } } }],
  ])('%s: %s', (reason, _, given, message) => {
    expect(() => requireAgreement(given, message)).toThrow(expect.objectContaining({ reason, messageId: 7 }));
  });

  test('an unsupported version is told what is supported', () => {
    expect(() => requireAgreement({ ...headers, mcpProtocolVersion: '2099-01-01' }, call)).toThrow(
      expect.objectContaining({
        data: { supported: ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', modern], requested: '2099-01-01' },
      }),
    );
  });
});
