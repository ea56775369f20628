import { describe, expect, test } from 'vitest';
import { createActionReader } from '../../../src/pipeline/authorize/action.ts';
import { createHandleBinding } from '../../../src/mcp/handles-binding.ts';
import { lengthPrefixed } from '../../../src/lib/length-prefixed.ts';
import { createOwnerBound } from '../../../src/mcp/owner-bound.ts';
import { createToolHeaders } from '../../../src/mcp/tool-headers.ts';
import type { Call } from '../../../src/model/call.ts';
import { Denial } from '../../../src/model/denial.ts';
import type { Route } from '../../../src/model/route.ts';
import { mcpMethod, noMethod } from '../../../src/model/mcp.ts';

const sessions = createOwnerBound('a key of at least thirty-two characters');
const mine = sessions.bind('theirs', lengthPrefixed(['tools']));
const toolHeaders = createToolHeaders();
const inputSchema = { properties: { to: { 'x-mcp-header': 'To' } } };
toolHeaders.learn({ result: { tools: [{ name: 'pay', inputSchema }] } });
const ping = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');

async function action(
  protocol: Route['protocol'],
  method: string,
  fields: Partial<Call['fields']>,
  {
    path = '/mcp',
    query = '',
    queries = 'refuse',
    body = ping,
    refused = (denial: Denial): unknown => denial.reason,
  } = {},
): Promise<unknown> {
  const read = createActionReader({ protocol, name: 'tools', path: '/mcp', query: queries } as Route, {
    readBody: () => Promise.resolve(body),
    sessions,
    handles: createHandleBinding(sessions, Date.now),
    toolHeaders,
  });
  try {
    return await read({ method, path, query, fields } as Call, undefined);
  } catch (error) {
    if (error instanceof Denial) return refused(error);
    throw error;
  }
}

describe('http', () => {
  test('reads the header section alone, and not the body', async () => {
    expect(await action('http', 'POST', { contentType: 'text/plain' })).toEqual({
      attempt: { kind: 'http' },
      messageId: null,
      era: undefined,
      sessionId: undefined,
      lastEventId: undefined,
      mcpName: undefined,
      mayYieldHandle: false,
      trace: undefined,
      tasks: undefined,
      continues: undefined,
      body: undefined,
    });
  });
});

describe('mcp', () => {
  test('a POST gives its message, with the bytes that were read', async () => {
    expect(await action('mcp', 'POST', { contentType: 'application/json' })).toEqual({
      attempt: { kind: 'mcp', method: mcpMethod('ping'), targets: [], arguments: undefined },
      messageId: 1,
      era: 'legacy',
      sessionId: undefined,
      lastEventId: undefined,
      mcpName: undefined,
      mayYieldHandle: false,
      tasks: undefined,
      continues: undefined,
      body: ping,
    });
  });

  test.each(['GET', 'DELETE'])('a %s has no message', async (method) => {
    expect(await action('mcp', method, {})).toEqual({
      attempt: { kind: 'mcp', method: noMethod, targets: [], arguments: undefined },
      messageId: null,
      era: 'legacy',
      sessionId: undefined,
      lastEventId: undefined,
      mcpName: undefined,
      mayYieldHandle: false,
      tasks: undefined,
      continues: undefined,
      body: undefined,
    });
    expect(await action('mcp', method, { contentLength: '0' })).toHaveProperty('body', undefined);
  });

  test.each([
    ['a session that was given to no caller', 'GET', { mcpSessionId: 'x' }, 'session.unknown'],
    ['a GET with a counted body', 'GET', { contentLength: '3' }, 'request.framing'],
    ['a DELETE with a chunked body', 'DELETE', { transferEncoding: 'chunked' }, 'request.framing'],
    ['no content type', 'POST', {}, 'body.type'],
    ['a type behind another', 'POST', { contentType: 'x; application/json' }, 'body.type'],
    ['another', 'POST', { contentType: 'text/plain' }, 'body.type'],
    ['a longer one', 'POST', { contentType: 'application/json-rpc' }, 'body.type'],
    ['two in one', 'POST', { contentType: 'application/json, text/plain' }, 'body.type'],
    ['another charset', 'POST', { contentType: 'application/json; charset=utf-16' }, 'body.type'],
    ['two charsets', 'POST', { contentType: 'application/json; charset=utf-8; charset=utf-7' }, 'body.type'],
    ['gzip', 'POST', { contentType: 'application/json', contentEncoding: 'gzip' }, 'body.encoding'],
    [
      'identity and gzip',
      'POST',
      { contentType: 'application/json', contentEncoding: 'identity, gzip' },
      'body.encoding',
    ],
    ['an empty encoding', 'POST', { contentType: 'application/json', contentEncoding: '' }, 'body.encoding'],
  ])('%s → refused', async (_why, method, fields, wanted) => expect(await action('mcp', method, fields)).toBe(wanted));

  test.each([
    ['application/json; charset=utf-8', undefined],
    ['Application/JSON;charset="UTF-8"', undefined],
    ['application/json ', 'Identity'],
  ])('%s, %s → read', async (contentType, contentEncoding) => {
    expect(await action('mcp', 'POST', { contentType, contentEncoding })).toHaveProperty('body', ping);
  });

  test.each([
    ['/mcp', 'read'],
    ['/mcp/', 'read'],
    ['/mcp/sse', 'route.unknown'],
    ['/', 'route.unknown'],
    ['', 'route.unknown'],
  ])('refuses a page or an old event stream below the endpoint: %s', async (path, wanted) => {
    const found = await action('mcp', 'GET', {}, { path });
    expect(typeof found === 'string' ? found : 'read').toBe(wanted);
  });

  test.each([
    ['refuse', '?tenant=b', 'route.query'],
    ['refuse', '?', 'route.query'],
    ['refuse', '', 'read'],
    ['pass', '?tenant=b', 'read'],
  ] as const)('no policy reads a query, so that it needs `query: pass`: %s, %j', async (queries, query, wanted) => {
    for (const method of ['GET', 'DELETE', 'POST']) {
      const found = await action('mcp', method, { contentType: 'application/json' }, { queries, query });
      expect(typeof found === 'string' ? found : 'read').toBe(wanted);
    }
  });
});

describe('Mcp-Session-Id', () => {
  const json = { contentType: 'application/json' };

  test('becomes the upstream’s own again, and the stream of a session is its owner’s', async () => {
    expect(await action('mcp', 'GET', { mcpSessionId: mine })).toMatchObject({
      sessionId: 'theirs',
      mayYieldHandle: true,
    });
    expect(await action('mcp', 'POST', { ...json, mcpSessionId: mine })).toHaveProperty('sessionId', 'theirs');
  });

  test('of no caller is refused, with the id of the message', async () => {
    const refused = ({ reason, messageId }: Denial): unknown => [reason, messageId];
    expect(await action('mcp', 'GET', { mcpSessionId: 'theirs' }, { refused })).toEqual(['session.unknown', null]);
    expect(await action('mcp', 'POST', { ...json, mcpSessionId: 'theirs' }, { refused })).toEqual([
      'session.unknown',
      1,
    ]);
  });

  test('is dropped in MCP 2026-07-28, which has no sessions', async () => {
    const fields = { ...json, mcpSessionId: mine, mcpProtocolVersion: '2026-07-28' };
    const body = Buffer.from('{"jsonrpc":"2.0","method":"notifications/x"}');
    expect(await action('mcp', 'POST', fields, { body })).toMatchObject({ era: 'modern', sessionId: undefined });
  });
});

describe('Last-Event-ID', () => {
  const json = { contentType: 'application/json' };
  const event = (id: string, session: string): string =>
    sessions.bind(Buffer.from(id, 'latin1').toString('base64url'), lengthPrefixed(['tools', 'event', session]));

  test('becomes the upstream’s own again, in the session that it belongs to', async () => {
    const inSession = { mcpSessionId: mine, lastEventId: event('stream_1\xe9', 'theirs') };
    expect(await action('mcp', 'GET', inSession)).toHaveProperty('lastEventId', 'stream_1\xe9');
    expect(await action('mcp', 'POST', { ...json, ...inSession })).toHaveProperty('lastEventId', 'stream_1\xe9');
    expect(await action('mcp', 'GET', { lastEventId: event('1', '') })).toHaveProperty('lastEventId', '1');
  });

  test.each([
    ['of another session', { mcpSessionId: mine, lastEventId: event('1', 'other') }],
    ['of a session, without it', { lastEventId: event('1', 'theirs') }],
    ['of no session, in one', { mcpSessionId: mine, lastEventId: event('1', '') }],
    ['of the upstream', { lastEventId: '1' }],
    ['that is empty', { lastEventId: '' }],
    ['that is a session', { lastEventId: mine }],
  ])('%s is refused', async (_, fields) => {
    const refused = ({ reason, messageId }: Denial): unknown => [reason, messageId];
    for (const method of ['GET', 'DELETE'])
      expect(await action('mcp', method, fields, { refused })).toEqual(['handle.unknown', null]);
    expect(await action('mcp', 'POST', { ...json, ...fields }, { refused })).toEqual(['handle.unknown', 1]);
  });

  test('is dropped in MCP 2026-07-28, which resumes no stream', async () => {
    const fields = { ...json, lastEventId: '1', mcpProtocolVersion: '2026-07-28' };
    const body = Buffer.from('{"jsonrpc":"2.0","method":"notifications/x"}');
    expect(await action('mcp', 'POST', fields, { body })).toMatchObject({ era: 'modern', lastEventId: undefined });
  });
});

describe('MCP 2026-07-28 §Custom Headers: a header that repeats an argument', () => {
  const version = '2026-07-28';
  const headers = { contentType: 'application/json', mcpName: 'pay', names: ['mcp-param-to'] };

  test.each([
    ['of a tool says what the argument says', version, 'tools/call', 'bob', 'read'],
    ['of a tool says something else', version, 'tools/call', 'eve', ['message.header_mismatch', 1]],
    ['is nothing to a prompt that is called as the tool', version, 'prompts/get', 'eve', 'read'],
    ['is nothing to legacy revisions', undefined, 'tools/call', 'eve', 'read'],
  ])('%s', async (_, mcpProtocolVersion, mcpMethod, sent, wanted) => {
    const meta = { 'io.modelcontextprotocol/protocolVersion': mcpProtocolVersion };
    const params = { name: 'pay', arguments: { to: 'bob' }, _meta: meta };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: mcpMethod, params }));
    const fields = { ...headers, mcpProtocolVersion, mcpMethod, raw: ['Mcp-Param-To', sent] };
    const refused = ({ reason, messageId }: Denial): unknown => [reason, messageId];
    const found = await action('mcp', 'POST', fields, { body, refused });
    expect(Array.isArray(found) ? found : 'read').toEqual(wanted);
  });
});
