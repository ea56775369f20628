import { describe, expect, test } from 'vitest';
import { createAuthorize } from '../../src/core/gateway/authorize/authorize.ts';
import { lengthPrefixed } from '../../src/core/lib/digest.ts';
import type { Call } from '../../src/core/model/call.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { Action } from '../../src/core/model/grant.ts';
import { mcpMethod, noMethod } from '../../src/core/model/mcp.ts';
import type { Policy } from '../../src/core/model/policy.ts';
import type { Principal } from '../../src/core/model/principal.ts';
import type { Route } from '../../src/core/model/route.ts';
import { compilePolicy } from '../../src/policy-parts/compile.ts';
import { createActionReader } from '../../src/mcp/action.ts';
import { Bindings, createOwnerBound, HandleBinding } from '../../src/mcp/bindings.ts';
import { createToolHeaders } from '../../src/mcp/tool-headers.ts';
import { messageLimits } from '../support/message-limits.ts';
import { words } from '../support/words.ts';

const sessions = createOwnerBound('a key of at least thirty-two characters');
const handles = new HandleBinding(sessions, Date.now);
const mine = sessions.bind('theirs', lengthPrefixed(['tools']));
const toolHeaders = createToolHeaders();
const inputSchema = { properties: { to: { 'x-mcp-header': 'To' } } };
toolHeaders.learn({ result: { tools: [{ name: 'pay', inputSchema }] } });
const ping = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');

async function actionOf(
  method: string,
  fields: Partial<Call['fields']>,
  {
    path = '/mcp',
    query = '',
    queries = 'refuse',
    body = ping,
    refused = (denial: Denial): unknown => denial.reason,
    principal = undefined as Principal | undefined,
  } = {},
): Promise<unknown> {
  const read = createActionReader({ path: '/mcp', query: queries } as Route, {
    limits: messageLimits,
    readBody: () => Promise.resolve(body),
    bindings: new Bindings({ name: 'tools' }, { sessions, handles, uuid: String }),
    toolHeaders,
  });
  try {
    return await read({ method, path, query, fields } as Call, principal);
  } catch (error) {
    if (error instanceof Denial) return refused(error);
    throw error;
  }
}

/** What a request without a message gives. */
const bare = { messageId: null, mayYieldHandle: false, asksByUrl: false };

describe('mcp', () => {
  test('a POST gives its message, with the bytes that were read', async () => {
    expect(await actionOf('POST', { contentType: 'application/json' })).toEqual({
      ...bare,
      attempt: { kind: 'mcp', method: mcpMethod('ping'), targets: [], arguments: undefined },
      messageId: 1,
      hasArgumentVariants: false,
      era: 'legacy',
      body: ping,
    });
  });

  test.each(['GET', 'DELETE'])('a %s has no message', async (method) => {
    const attempt = { kind: 'mcp', method: noMethod, targets: [], arguments: undefined };
    expect(await actionOf(method, {})).toEqual({ ...bare, attempt, era: 'legacy' });
    expect(await actionOf(method, { contentLength: '0' })).toHaveProperty('body', undefined);
  });

  test.each<readonly [why: string, method: string, fields: Partial<Call['fields']>, wanted: string]>([
    ['a session that was given to no caller', 'GET', { mcpSessionId: 'x' }, 'session.unknown'],
    ['a GET with a counted body', 'GET', { contentLength: '3' }, 'request.framing'],
    ['a DELETE with a chunked body', 'DELETE', { transferEncoding: 'chunked' }, 'request.framing'],
    ...[
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
      'application/json; charset=utf-8; charset=utf-7',
      'x; application/json',
      'application/json, text/plain',
      'application/ json',
      'application/json\u00A0',
      '',
      ...words(`
      text/json text/plain application/json-rpc application/x-www-form-urlencoded application/jsonp application/json5 application/json-seq
      application/vnd.api+json application/* */* application/json;boundary=x application\\json
      "application/json"`),
    ].map((contentType) => [contentType, 'POST', { contentType }, 'body.type'] as const),
    ...['', 'gzip', 'x-gzip', 'deflate', 'br', 'gzip, identity', 'identity, gzip', 'GZIP', 'unknown'].map(
      (contentEncoding) =>
        [contentEncoding, 'POST', { contentType: 'application/json', contentEncoding }, 'body.encoding'] as const,
    ),
    ['no content type', 'POST', {}, 'body.type'],
  ])('R-101: %s → refused', async (_why, method, fields, wanted) =>
    expect(await actionOf(method, fields)).toBe(wanted),
  );

  test.each([
    ['application/json; charset=utf-8', undefined],
    ['APPLICATION/JSON', undefined],
    ['Application/JSON;charset="UTF-8"', undefined],
    ['application/json ', 'Identity'],
  ])('%s, %s → read', async (contentType, contentEncoding) => {
    expect(await actionOf('POST', { contentType, contentEncoding })).toHaveProperty('body', ping);
  });

  test.each([
    ['/mcp', 'read'],
    ['/mcp/', 'read'],
    ['/mcp/sse', 'route.unknown'],
    ['/', 'route.unknown'],
    ['', 'route.unknown'],
  ])('refuses a page or an old event stream below the endpoint: %s', async (path, wanted) => {
    const found = await actionOf('GET', {}, { path });
    expect(typeof found === 'string' ? found : 'read').toBe(wanted);
  });

  test.each([
    ['refuse', '?tenant=b', 'route.query'],
    ['refuse', '?', 'route.query'],
    ['refuse', '', 'read'],
    ['pass', '?tenant=b', 'read'],
  ] as const)('no policy reads a query, so that it needs `query: pass`: %s, %j', async (queries, query, wanted) => {
    for (const method of ['GET', 'DELETE', 'POST']) {
      const found = await actionOf(method, { contentType: 'application/json' }, { queries, query });
      expect(typeof found === 'string' ? found : 'read').toBe(wanted);
    }
  });
});

describe('what a client presents becomes the upstream’s own again', () => {
  const json = { contentType: 'application/json' };

  test('its session, whose stream is its owner’s', async () => {
    expect(await actionOf('GET', { mcpSessionId: mine })).toMatchObject({
      sessionId: 'theirs',
      mayYieldHandle: true,
    });
    expect(await actionOf('POST', { ...json, mcpSessionId: mine })).toHaveProperty('sessionId', 'theirs');
    expect(await actionOf('GET', { mcpSessionId: 'theirs' })).toBe('session.unknown');
  });

  test('its task, in the message and in its header', async () => {
    const task = sessions.bind(Buffer.from('t').toString('base64url'), lengthPrefixed(['tools', 'task']));
    const asked = (taskId: string): Buffer<ArrayBuffer> =>
      Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId } }));
    expect(await actionOf('POST', json, { body: asked(task) })).toMatchObject({
      body: asked('t'),
      mcpName: 't',
    });
  });

  test('what belongs to the caller, and to no other', async () => {
    const fields = { ...json, mcpSessionId: sessions.bind('theirs', lengthPrefixed(['tools']) + 'alice') };
    const alice = { callerKey: 'alice' } as Principal;
    for (const method of ['GET', 'POST']) {
      expect(await actionOf(method, fields, { principal: alice })).toHaveProperty('sessionId', 'theirs');
      expect(await actionOf(method, fields)).toBe('session.unknown');
    }
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
    const found = await actionOf('POST', fields, { body, refused });
    expect(Array.isArray(found) ? found : 'read').toEqual(wanted);
  });
});

describe('keys of arguments that differ in case only', () => {
  const by = {
    issuer: 'https://as',
    subject: 'alice',
    callerKey: 'alice',
    scopes: new Set<string>(),
    claims: {},
  } as unknown as Principal;
  const twins = '{"amount":1,"to":{"id":1,"ID":2},"Note":1,"note":2,"x":[{"Y":1,"y":2}],"deep":{},"Deep":{"a":1}}';
  const entry = (document: object): Policy =>
    compilePolicy('p', { tools: { call: document, other: {} }, prompts: { call: {} } });
  const after = (same: string): object => ({ after: { tool: 'other', within: '1h', same: [same] } });
  const pastOf = (same: string): Policy =>
    compilePolicy('p', { tools: { call: {}, pay: { never_after: { tool: 'call', within: '1h', same: [same] } } } });
  const sum = (pointer: string): object => ({ quota: [{ sum: pointer, at_most: 5, within: '1h' }] });
  const approval = (extra: object): object => ({ approval: { by: { claims: { role: 'boss' } }, ...extra } });

  const decided = async (
    policy: Policy | undefined,
    { text = twins, sendsArguments = false, open = false, method = 'tools/call' } = {},
  ): Promise<unknown> => {
    const body = Buffer.from(
      `{"jsonrpc":"2.0","id":7,"method":"${method}","params":{"name":"call","arguments":${text}}}`,
    );
    const refused = ({ reason, messageId }: Denial): unknown => [reason, messageId];
    const read = (await actionOf('POST', { contentType: 'application/json' }, { body, refused })) as Action;
    if (Array.isArray(read)) return read;
    const authorize = createAuthorize({ name: 'r', public: open, policy }, Date.now, sendsArguments);
    try {
      return authorize(open ? undefined : by, read).decision.allow;
    } catch (error) {
      return error instanceof Denial ? refused(error) : error;
    }
  };

  test.for<readonly [what: string, policy: Policy | undefined, options?: Parameters<typeof decided>[1]]>([
    ['without a policy', undefined],
    ['on a public route', undefined, { open: true }],
    ['no condition on arguments', entry({})],
    ['a condition on another argument', entry({ arguments: { '/amount': { at_most: 5 } } })],
    ['a condition on an absent argument', entry({ arguments: { '/away': { present: false } } })],
    ['the same argument of another one', entry(after('/amount'))],
    ['the sum of another one', entry(sum('/amount'))],
    ['a rule of another tool', compilePolicy('p', { tools: { call: {}, pay: approval({}) } })],
    ['a rule that looks back by another argument', pastOf('/amount')],
    ['a prompt', entry({}), { method: 'prompts/get' }],
  ])('are data where nothing reads them: %s', async ([, policy, options]) => {
    expect(await decided(policy, options)).toBe(true);
  });

  test.for<readonly [what: string, policy: Policy | undefined, options?: Parameters<typeof decided>[1]]>([
    ['a condition on one of them', entry({ arguments: { '/note': { present: true } } })],
    ['a condition below one of them', entry({ arguments: { '/deep/a': { present: false } } })],
    ['a condition on one that is deeper', entry({ arguments: { '/to/id': { at_most: 5 } } })],
    [
      'in shadow mode too',
      compilePolicy('p', { mode: 'shadow', tools: { call: { arguments: { '/note': { equals: 9 } } } } }),
    ],
    ['the same argument', entry(after('/note'))],
    ['a sum', entry(sum('/to/id'))],
    ['a rule of another tool that looks back', pastOf('/to')],
    ['an approval of all arguments', entry(approval({}))],
    ['an approval that shows another one', entry(approval({ shows: ['/amount'] }))],
    ['an approval whose condition is not met', entry(approval({ when: { claims: { role: 'clerk' } } }))],
    ['a decision point that gets arguments', entry({}), { sendsArguments: true }],
    ['one of a public route', undefined, { sendsArguments: true, open: true }],
    ['a method without arguments', entry({}), { method: 'ping' }],
    ['a tool that names a method in another way', entry({}), { method: 'notifications/x' }],
    ['equal keys', entry({}), { text: '{"a":1,"a":2,"b":1,"B":2}' }],
    ['equal keys below', entry({}), { text: '{"b":1,"B":2,"c":{"a":1,"\\u0061":2}}' }],
  ])('are refused where something may read one of them: %s', async ([, policy, options]) => {
    expect(await decided(policy, options)).toEqual(['body.ambiguous', options?.text === undefined ? 7 : undefined]);
  });

  test('are refused where a header repeats one of them', async () => {
    const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    const found = (text: string): Promise<unknown> => {
      const params = `{"name":"pay","arguments":${text},"_meta":${JSON.stringify(meta)}}`;
      const fields = {
        contentType: 'application/json',
        mcpName: 'pay',
        mcpMethod: 'tools/call',
        names: ['mcp-param-to'],
      };
      const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
      return actionOf('POST', { ...fields, mcpProtocolVersion: '2026-07-28', raw: ['Mcp-Param-To', 'bob'] }, { body });
    };
    expect(await found('{"to":"bob","To":"eve"}')).toBe('body.ambiguous');
    expect(await found('{"to":"bob","a":1,"A":2}')).toHaveProperty('hasArgumentVariants', true);
  });
});
