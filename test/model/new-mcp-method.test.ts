/**
 * What it takes to add a method of MCP: one row. The tests run a copy of `src/` in which the table has two more.
 *
 * @module
 */

import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { AnswerFilter } from '../../src/pipeline/forward/answer-filter.ts';
import type { Call } from '../../src/model/call.ts';
import type { Grant } from '../../src/model/grant.ts';
import type { McpAttempt } from '../../src/model/policy.ts';
import type { Route } from '../../src/model/route.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { caller, message, type Given } from '../policy/caller.ts';

const rows = `
  'widgets/list': { ...list, list: { member: 'widgets', kind: 'tool', name: 'label' } },
  'widgets/run': { ...request, ...target('tool', 'widget'), hasArguments: true, mayNeedInput: true, isCacheable: true },
`;

const copy = mkdtempSync(join(tmpdir(), 'sallyport-method-'));

/** A module of the copy, by its path below `src/`. */
async function copied<Module>(path: string): Promise<Module> {
  return (await import(join(copy, 'src', path))) as Module;
}

type Messages = typeof import('../../src/mcp/message.ts');
type Policies = typeof import('../../src/policy/compile.ts');
type Filters = typeof import('../../src/pipeline/forward/answer-filter.ts');
type Headers = typeof import('../../src/mcp/tool-headers.ts');
type Tables = typeof import('../../src/model/mcp.ts');
let mcpMethod: Tables['mcpMethod'];
let readMessage: Messages['readMessage'];
let compilePolicy: Policies['compilePolicy'];
let answerFilter: Filters['answerFilter'];
let createToolHeaders: Headers['createToolHeaders'];

beforeAll(async () => {
  cpSync('src', join(copy, 'src'), { recursive: true });
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
  const table = join(copy, 'src/model/mcp.ts');
  const source = readFileSync(table, 'utf8');
  const start = 'const requests = table({';
  if (!source.includes(start)) throw new Error(`the table of methods does not begin with ${start}`);
  writeFileSync(table, source.replace(start, start + rows));
  ({ mcpMethod } = await copied<Tables>('model/mcp.ts'));
  ({ readMessage } = await copied<Messages>('mcp/message.ts'));
  ({ compilePolicy } = await copied<Policies>('policy/compile.ts'));
  ({ answerFilter } = await copied<Filters>('pipeline/forward/answer-filter.ts'));
  ({ createToolHeaders } = await copied<Headers>('mcp/tool-headers.ts'));
});

/** A message whose method has its row in the copy. */
function widgetMessage(method: string, ...targets: readonly string[]): McpAttempt {
  return { ...message(method, ...targets), method: mcpMethod(method) };
}

describe('a row for a method that runs a tool', () => {
  const version = 'io.modelcontextprotocol/protocolVersion';
  const modern = { mcpProtocolVersion: '2026-07-28', mcpMethod: 'widgets/run', mcpName: 'paint' };
  const legacy = { mcpProtocolVersion: undefined, mcpMethod: undefined, mcpName: undefined };
  const read = (method: string, params: object, headers: object = {}): ReturnType<typeof readMessage> =>
    readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })), {
      ...legacy,
      ...headers,
    });

  test('its target is read, and its arguments', () => {
    expect(read('widgets/run', { widget: 'paint', arguments: { a: 1 } })).toMatchObject({
      targets: [{ kind: 'tool', name: 'paint' }],
      arguments: { a: 1 },
    });
  });

  test.each([
    ['without a target', 'widgets/run', {}, 'body.message'],
    ['with arguments that are no object', 'widgets/run', { widget: 'paint', arguments: '{}' }, 'body.message'],
    ['in another spelling', 'Widgets/Run', { widget: 'paint' }, 'body.ambiguous'],
  ])('it is refused %s', (_, method, params, reason) => {
    expect(() => read(method, params)).toThrow(expect.objectContaining({ reason }) as Error);
  });

  test('Mcp-Name repeats its target, and its answer may give out a state', () => {
    const params = { widget: 'paint', _meta: { [version]: '2026-07-28' } };
    expect(read('widgets/run', params, modern)).toMatchObject({ era: 'modern', mayYieldHandle: true });
    expect(() => read('widgets/run', params, { ...modern, mcpName: 'other' })).toThrow(
      expect.objectContaining({ reason: 'message.header_mismatch' }) as Error,
    );
  });

  test('the entry of its target decides', () => {
    const decided = (document: PolicyDocument, given: Given, name: string): boolean =>
      compilePolicy('p', document).decide(caller(given), widgetMessage('widgets/run', `tool ${name}`)).allow;
    const document: PolicyDocument = { tools: { paint: { scope: 'paint' } } };
    expect(decided(document, { scope: 'paint' }, 'paint')).toBe(true);
    expect(decided(document, {}, 'paint')).toBe(false);
    expect(decided(document, { scope: 'paint' }, 'other')).toBe(false);
    expect(() => compilePolicy('p', { methods: { 'widgets/run': {} } })).toThrow(/allows nothing without tools/);
  });
});

describe('a row for a method that lists tools', () => {
  test('is housekeeping', () => {
    const policy = compilePolicy('p', { tools: {} });
    expect(policy.decide(caller(), widgetMessage('widgets/list')).allow).toBe(true);
  });

  test('filters its answers, and learns the headers that the tools declare', () => {
    const toolHeaders = createToolHeaders();
    const policy = compilePolicy('p', { tools: { paint: {} } });
    const route = { protocol: 'mcp', policy } as unknown as Route;
    const grant = {
      principal: caller(),
      action: { attempt: widgetMessage('widgets/list'), era: 'modern', mayYieldHandle: false },
    } as unknown as Grant;
    const parts = {
      bindings: { giveHandles: () => undefined, giveEventIds: () => String },
      toolHeaders,
      lock: undefined,
      askAboutList: undefined,
    };
    const filter = answerFilter(route, { call: {} as Call, grant, counted: undefined }, parts) as AnswerFilter;
    const answer = { isJson: true, isEncoded: false, isEventStream: false } as Parameters<AnswerFilter['choose']>[0];
    const body = filter.choose(answer, 200);
    const inputSchema = { properties: { colour: { type: 'string', 'x-mcp-header': 'Colour' } } };
    const widgets = [{ label: 'paint', inputSchema }, { label: 'hidden' }];
    body?.push(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { widgets, cacheScope: 'public' } })));
    expect(JSON.parse(String(body?.end().join('')))).toMatchObject({
      result: { widgets: [{ label: 'paint', inputSchema }], cacheScope: 'private' },
    });
    expect(toolHeaders.of('paint')).toEqual([{ field: 'mcp-param-colour', path: ['colour'], isNumber: false }]);
  });
});
