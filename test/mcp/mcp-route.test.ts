import { beforeEach, expect, test } from 'vitest';
import type { ResponseHeaders } from '../../src/core/gateway/forward/response-headers.ts';
import type { Call } from '../../src/core/model/call.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { Action, Grant, GrantedCall } from '../../src/core/model/grant.ts';
import type { Route } from '../../src/core/model/route.ts';
import { createMcp, type McpRoute } from '../../src/mcp/mcp-route.ts';
import { alice, call, message } from '../core/policy/caller.ts';
import { messageLimits } from '../support/message-limits.ts';

const modern = '2026-07-28';
let body: object;
let open: (path: string) => McpRoute;
beforeEach(() => {
  const onRoute = createMcp(Date.now, String)('a key of at least thirty-two characters');
  const readBody = () => Promise.resolve(Buffer.from(JSON.stringify(body)));
  open = (path) =>
    onRoute({ name: 'tools', path: '/mcp', upstream: { origin: 'http://upstream', path } } as Route, {
      readBody,
      limits: messageLimits,
    });
  body = { jsonrpc: '2.0', id: 1, method: 'ping' };
});

const posted = (fields: object): Call =>
  ({
    method: 'POST',
    path: '/mcp',
    query: '',
    fields: { contentType: 'application/json', names: [], raw: [], ...fields },
  }) as unknown as Call;
const grantOf = (action: Partial<Action>): Grant =>
  ({ principal: alice, action: { era: 'legacy', messageId: 1, ...action } }) as unknown as Grant;

test('a call presents the session that its caller got; a call that a proxy asks about presents none', async () => {
  const mcp = open('/mcp');
  const mcpSessionId = mcp.giveSession('theirs', grantOf({}));
  await expect(mcp.readAction(posted({ mcpSessionId }), alice)).resolves.toMatchObject({ sessionId: 'theirs' });
  const unknown = expect.objectContaining({ reason: 'session.unknown' }) as Denial;
  await expect(mcp.readQuestion(posted({ mcpSessionId }), alice)).rejects.toThrow(unknown);
  await expect(mcp.readQuestion(posted({}), alice)).resolves.toMatchObject({ messageId: 1 });
});

test('a call presents the task that its caller got; a call that a proxy asks about presents none', async () => {
  const mcp = open('/mcp');
  const filter = mcp
    .messages({ answers: [], askAboutList: undefined })
    .filter({ grant: grantOf({ attempt: call('pay'), mayYieldHandle: true }) } as unknown as GrantedCall)
    .choose({ isJson: true } as ResponseHeaders, 200);
  filter?.push(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"theirs"}}}'));
  const { result } = JSON.parse(String(filter?.end()[0])) as { result: { task: { taskId: string } } };
  body = { jsonrpc: '2.0', id: 2, method: 'tasks/get', params: result.task };
  const { tasks } = await mcp.readAction(posted({}), alice);
  expect([...(tasks?.keys() ?? [])]).toEqual(['theirs']);
  const unknown = expect.objectContaining({ reason: 'handle.unknown' }) as Denial;
  await expect(mcp.readQuestion(posted({}), alice)).rejects.toThrow(unknown);
});

test('a call that waits for a person gets a state that it alone can send back', async () => {
  const mcp = open('/mcp');
  const requestState = mcp.giveApprovalState(grantOf({ attempt: call('pay') }));
  expect(requestState).toMatch(/^[\w.-]+$/);
  body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', requestState } };
  const action = await mcp.readAction(posted({}), alice);
  expect(JSON.parse(String(action.body))).toMatchObject({ params: { name: 'pay' } });
  expect(String(action.body)).not.toContain('requestState');
});

test('the headers of tools are learnt for one upstream, by each of its routes', async () => {
  const inputSchema = { properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'pay', inputSchema }] } });
  const filter = open('/a')
    .messages({ answers: [], askAboutList: undefined })
    .filter({ grant: grantOf({ attempt: message('tools/list') }) } as unknown as GrantedCall)
    .choose({ isJson: true } as ResponseHeaders, 200);
  filter?.push(Buffer.from(list));
  filter?.end();
  const meta = {
    'io.modelcontextprotocol/protocolVersion': modern,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  };
  body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'pay', arguments: { region: 'eu' }, _meta: meta },
  };
  const fields = { mcpProtocolVersion: modern, mcpMethod: 'tools/call', mcpName: 'pay' };
  const mismatch = expect.objectContaining({ reason: 'message.header_mismatch' }) as Denial;
  await expect(open('/a').readAction(posted(fields), alice)).rejects.toThrow(mismatch);
  await expect(open('/b').readAction(posted(fields), alice)).resolves.toMatchObject({ era: 'modern' });
});

test('a stream has an event for its end, and one for a refusal', () => {
  const messages = open('/mcp').messages({ answers: [], askAboutList: undefined });
  const action = { era: 'modern', attempt: message('subscriptions/listen'), messageId: 7 } as Action;
  expect(messages.endOfStream(action)).toContain('"resultType":"complete"');
  expect(messages.refusalEvent(action, 'decision', new Denial('upstream.invalid', ''))).toContain(
    '"reason":"upstream.invalid"',
  );
});
