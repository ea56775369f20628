import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodedValue,
  encodedValue,
  requireAgreement,
  type MessageHeaders,
  type Repeated,
} from '../../src/mcp/agreement.ts';
import { Denial } from '../../src/core/model/denial.ts';
import { mcpMethod } from '../../src/core/model/mcp.ts';
import type { Era } from '../../src/core/model/mcp-method.ts';
import { orDenial } from '../support/denial.ts';
import { runs } from '../support/runs.ts';

/** A message with the name of its method. */
type Written = Omit<Repeated, 'method'> & { readonly method: string | undefined };

function agreement(headers: MessageHeaders, message: Written): Era {
  return requireAgreement(headers, { ...message, method: mcpMethod(message.method) });
}

/** The era, or the reason of a Denial that carries the message's id. */
function eraOf(given: MessageHeaders, message: Written): string {
  const era = orDenial(() => agreement(given, message));
  if (!(era instanceof Denial)) return era;
  return era.messageId === message.id ? era.reason : 'refused with another id';
}

const modern = '2026-07-28';
const meta = { 'io.modelcontextprotocol/protocolVersion': modern };
const call = { method: 'tools/call', id: 7, params: { name: 'echo', _meta: meta }, isRequest: true };
const headers = { mcpProtocolVersion: modern, mcpMethod: 'tools/call', mcpName: 'echo' };
const none: MessageHeaders = { mcpProtocolVersion: undefined, mcpMethod: undefined, mcpName: undefined };
const claiming = (version: unknown) => ({
  ...call,
  params: { name: 'echo', _meta: { 'io.modelcontextprotocol/protocolVersion': version } },
});
const named = (name: unknown) => ({ params: { name, _meta: meta } });
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

describe('R-103: a legacy message: the gateway does not compare its headers', () => {
  test.each([
    ['no header at all', none],
    ['a legacy version', { ...none, mcpProtocolVersion: '2025-06-18' }],
    ['headers that contradict', { mcpProtocolVersion: '2025-11-25', mcpMethod: 'ping', mcpName: 'other' }],
  ])('%s', (_, given) => {
    expect(agreement(given, { ...call, params: { name: 'echo' } })).toBe('legacy');
  });
});

describe('R-102: MCP 2026-07-28, Streamable HTTP §Server Validation: agreement', () => {
  const silent = { mcpMethod: undefined, mcpName: undefined };
  const claim = { _meta: meta };
  test.each<[string, Partial<MessageHeaders>, Partial<Written>]>([
    ['as it is', {}, {}],
    ['encoded', { mcpName: base64('écho') }, named('écho')],
    ['encoded without need', { mcpName: base64('echo') }, {}],
    ['encoded, in whole groups', { mcpName: base64('abc') }, named('abc')],
    ['with white space around', { mcpName: ' echo ' }, {}],
    ['a method without a name', { mcpMethod: 'tools/list', mcpName: undefined }, { method: 'tools/list' }],
    ['no target, whatever Mcp-Name says', { mcpMethod: 'ping', mcpName: 'x' }, { method: 'ping' }],
    ['a name that is not a string, which is refused as a message', { mcpName: 'x' }, named(1)],
    [
      'initialize that claims the version, which the server answers',
      { mcpMethod: 'initialize', mcpName: undefined },
      { method: 'initialize', params: claim },
    ],
    ['a claiming notification without headers', none, { method: 'notifications/x', params: claim, isRequest: false }],
    ['a response', silent, { method: undefined, params: {}, isRequest: false }],
    ['a notification with the version alone', silent, { method: 'notifications/x', params: {}, isRequest: false }],
  ])('%s', (_, given, message) => {
    expect(agreement({ ...headers, ...given }, { ...call, ...message })).toBe('modern');
  });
});

describe('MCP 2026-07-28, §Standard Request Headers: what Mcp-Name repeats', () => {
  test.each([
    ['tools/call', 'name'],
    ['prompts/get', 'name'],
    ['resources/read', 'uri'],
    ['tasks/get', 'taskId'],
    ['tasks/update', 'taskId'],
    ['tasks/cancel', 'taskId'],
  ])('%s: its %s', (method, parameter) => {
    const message = { ...call, method, params: { [parameter]: 'x', _meta: meta } };
    expect(agreement({ ...headers, mcpMethod: method, mcpName: 'x' }, message)).toBe('modern');
    for (const mcpName of ['y', undefined]) {
      expect(() => agreement({ ...headers, mcpMethod: method, mcpName }, message)).toThrow(
        expect.objectContaining({ reason: 'message.header_mismatch' }),
      );
    }
  });

  test.each(['resources/subscribe', 'resources/unsubscribe', 'tasks/result'])(
    'refuses %s, which only legacy revisions have',
    (method) => {
      const message = { ...call, method, params: { _meta: meta, uri: 'x://a', taskId: 'a' } };
      for (const mcpName of [undefined, 'another']) {
        expect(() => agreement({ ...headers, mcpMethod: method, mcpName }, message)).toThrow(
          expect.objectContaining({ reason: 'message.method', messageId: 7 }),
        );
      }
    },
  );
});

test.each([
  [{ ...headers, mcpMethod: 'x'.repeat(100) }, call, `Mcp-Method is "${'x'.repeat(64)}", the body says "tools/call"`],
  [{ ...headers, mcpProtocolVersion: undefined }, call, `MCP-Protocol-Version is nothing, the body says "${modern}"`],
])('the detail quotes at most 64 characters of a header', (given, message, detail) => {
  expect(() => agreement(given, message)).toThrow(expect.objectContaining({ detail }));
});

describe('MCP 2026-07-28, §Server Validation: refusals carry the request id', () => {
  test.each<[string, Partial<MessageHeaders>, Written?]>([
    ['no version header', { mcpProtocolVersion: undefined }],
    ['a legacy version header', { mcpProtocolVersion: '2025-11-25' }],
    ['no method header', { mcpMethod: undefined }],
    ['another method', { mcpMethod: 'tools/list' }],
    ['another method in case', { mcpMethod: 'Tools/Call' }],
    ['no name', { mcpName: undefined }],
    ['another name', { mcpName: 'admin' }],
    ['another name in case', { mcpName: 'Echo' }],
    ['an empty name', { mcpName: '' }],
    ['a name with a percent sign', { mcpName: '%65cho' }],
    ['another name, encoded', { mcpName: base64('admin') }],
    ['a name encoded twice', { mcpName: base64(base64('echo')) }],
    ['another name beyond ASCII', { mcpName: base64('große') }, { ...call, params: { name: 'größe', _meta: meta } }],
    ['a broken encoding', { mcpName: '=?base64?e?=' }],
    ['an encoding of no UTF-8', { mcpName: '=?base64?/w==?=' }, { ...call, params: { name: '\ufffd', _meta: meta } }],
    ['initialize', { mcpMethod: 'initialize' }, { ...call, method: 'initialize', params: {} }],
    ['another method of a notification', {}, { ...call, method: 'notifications/x', isRequest: false }],
    ['an unknown claim beside a known header', {}, claiming('x')],
    ['a known claim beside an unknown header', { mcpProtocolVersion: 'x' }],
    ['a legacy claim beside a modern header', {}, claiming('2025-11-25')],
  ])('message.header_mismatch: %s', (_, given, message = call) => {
    expect(eraOf({ ...headers, ...given }, message)).toBe('message.header_mismatch');
  });

  test.each<[string, string, Partial<MessageHeaders>, Written]>([
    ['message.meta', 'a _meta null', {}, { ...call, params: { name: 'echo', _meta: null } }],
    ['message.meta', 'no claim', {}, { ...call, params: { name: 'echo' } }],
    ['message.meta', 'an empty _meta', {}, { ...call, params: { name: 'echo', _meta: {} } }],
    ['message.meta', 'a claim of another type', {}, claiming(1)],
    ['message.version', 'an unknown header', { mcpProtocolVersion: '2099-01-01' }, { ...call, params: {} }],
    ['message.version', 'an unknown claim', { mcpProtocolVersion: 'x' }, claiming('x')],
  ])('%s: %s', (reason, _, given, message) => {
    expect(eraOf({ ...headers, ...given }, message)).toBe(reason);
  });

  test.each([
    ['by its header', { ...headers, mcpProtocolVersion: 'x' }, { ...call, params: {} }, 5],
    ['by its claim, which only modern messages have', { ...headers, mcpProtocolVersion: 'x' }, claiming('x'), 1],
  ])('R-106: the refusal of an unsupported version lists the supported ones: %s', (_, given, message, count) => {
    const legacy = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
    const data = { supported: [...legacy, modern].slice(-count), requested: 'x' };
    expect(() => agreement(given, message)).toThrow(expect.objectContaining({ data }));
  });

  test('and quotes at most 64 characters of the requested version', () => {
    const given = { ...headers, mcpProtocolVersion: 'x'.repeat(100) };
    const data = expect.objectContaining({ requested: 'x'.repeat(64) }) as unknown;
    expect(() => agreement(given, { ...call, params: {} })).toThrow(expect.objectContaining({ data }));
  });
});

test('any headers and message give an era, with equal headers and body in the modern one, or a Denial with the id', () => {
  const version = fc.constantFrom(modern, '2025-06-18', '2099-01-01', undefined);
  const word = fc.constantFrom('tools/call', 'tools/list', 'initialize', 'tasks/result', 'echo', 'écho', undefined);
  const encoded = word.map((text) => (text === undefined ? undefined : base64(text)));
  const meta = version.map((claim) => ({ 'io.modelcontextprotocol/protocolVersion': claim }));
  const members = { name: fc.oneof(word, fc.jsonValue()), _meta: fc.oneof(meta, fc.jsonValue()) };
  const headers = fc.record({ mcpProtocolVersion: version, mcpMethod: word, mcpName: fc.oneof(word, encoded) });
  fc.assert(
    fc.property(headers, word, fc.record(members, { requiredKeys: [] }), (given, method, params) => {
      const found = eraOf(given, { method, id: 7, params, isRequest: method !== undefined });
      const isSame =
        method === undefined ||
        (given.mcpProtocolVersion === modern &&
          given.mcpMethod === method &&
          (method !== 'tools/call' ||
            typeof params.name !== 'string' ||
            [params.name, base64(params.name)].includes(given.mcpName ?? '')));
      const sound =
        { legacy: given.mcpProtocolVersion !== modern, modern: isSame }[found] ?? found.startsWith('message.');
      expect(sound).toBe(true);
    }),
    { numRuns: runs },
  );
});

test.each([
  ['eu', 'eu'],
  ['', ''],
  ['=?base64?w6k=?=', 'é'],
  ['=?base64??=', ''],
  ['=?base64?YQ==', '=?base64?YQ=='],
  ['YQ==?=', 'YQ==?='],
  ['=?base64?YQ==?=x', '=?base64?YQ==?=x'],
  ['=?BASE64?YQ==?=', '=?BASE64?YQ==?='],
])('R-104: MCP 2026-07-28 §Value Encoding: %j is %j', (value, text) => expect(decodedValue(value)).toBe(text));

test.each([
  ['a letter alone', '=?base64?e?='],
  ['a character of no alphabet', '=?base64?!?='],
  ['padding that it does not need', '=?base64?YWJj=?='],
  ['bits left over', '=?base64?ZWNobx==?='],
  ['another alphabet', '=?base64?_-8=?='],
  ['no UTF-8', '=?base64?/w==?='],
  ['something before', '=?base64?!=?base64?YQ==?='],
  ['something behind', '=?base64?YQ==?=x?='],
])('is not well-formed with %s', (_, value) => expect(decodedValue(value)).toBeUndefined());

test.each([
  ['eu', 'eu'],
  ['a b', 'a b'],
  ['', '=?base64??='],
  [' a', '=?base64?IGE=?='],
  ['é', '=?base64?w6k=?='],
  ['=?base64?YQ==?=', '=?base64?PT9iYXNlNjQ/WVE9PT89?='],
])('%j is encoded as %s, and decoded again', (text, value) => {
  expect(encodedValue(text)).toBe(value);
  expect(decodedValue(value)).toBe(text);
});
