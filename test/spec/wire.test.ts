import { describe, expect, test } from 'vitest';
import type { Answer } from '../worlds/gateway.ts';
import { metadataOf, startWireWorld, toolCall } from '../worlds/wire.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(startWireWorld);

const begin = `Bearer error="invalid_token", scope="read", resource_metadata="${metadataOf('/mcp')}"`;

const mcp = (token?: string, tool = 'get_x'): Promise<Answer> => world.post('/mcp', token, toolCall(tool));

const http = (token?: string): Promise<Answer> => world.send('/plain', token === undefined ? {} : { token });

describe('401', () => {
  test('R-12: tells a request without a token on an MCP route where to begin', async () => {
    expect(await mcp()).toMatchObject({ status: 401, challenge: begin });
  });

  const bad: readonly (readonly [what: string, token: () => Promise<string> | string])[] = [
    ['malformed', () => 'a b'],
    ['unknown', () => 'unknown'],
    ['expired', () => world.token({ exp: 1 })],
  ];
  test.for(bad)(
    'R-14: answers a token that is %s on an MCP route with the challenge for no token',
    async ([, token]) => {
      expect(await mcp(await token())).toMatchObject({ status: 401, challenge: begin });
    },
  );

  test('R-16: names the scope of the policy in a 401, not that of the tool', async () => {
    expect(await mcp(undefined, 'pay')).toMatchObject({ status: 401, challenge: begin });
  });

  test('R-16: names no scope where the policy asks for none', async () => {
    expect(await world.post('/dead/mcp', undefined, toolCall('x'))).toMatchObject({
      status: 401,
      challenge: `Bearer error="invalid_token", resource_metadata="${metadataOf('/dead/mcp')}"`,
    });
  });
});

describe('403', () => {
  test('R-17: names all scopes of the operation on an MCP route, not only the missing one', async () => {
    expect(await mcp(await world.token(), 'pay')).toMatchObject({
      status: 403,
      challenge: `Bearer error="insufficient_scope", scope="read payments", resource_metadata="${metadataOf('/mcp')}"`,
    });
    expect((await mcp(await world.token({ scope: 'read payments' }), 'pay')).status).toBe(200);
  });

  test('R-17, R-18: names the metadata on an HTTP route that has a resource', async () => {
    const token = await world.token({ scope: 'x' });
    expect(await world.send('/api', { token })).toMatchObject({
      status: 403,
      challenge: `Bearer error="insufficient_scope", scope="read", resource_metadata="${metadataOf('/api')}"`,
    });
    expect(await http(token)).toMatchObject({
      status: 403,
      challenge: 'Bearer error="insufficient_scope", scope="read"',
    });
  });

  test.for([
    ['a claim, with a scope missing too', { blocked: true, scope: '' }, 'get_x'],
    ['a claim of the tool', {}, 'admin'],
    ['a tool that is not listed, with a scope missing too', { scope: '' }, 'drop'],
  ] as const)('R-19: sends no challenge on an MCP route for %s', async ([, claims, tool]) => {
    expect(await mcp(await world.token(claims), tool)).toMatchObject({ status: 403, challenge: null });
  });

  test('R-19: sends no challenge on an HTTP route for a claim, with a scope missing too', async () => {
    const token = await world.token({ blocked: true, scope: '' });
    expect(await http(token)).toMatchObject({ status: 403, challenge: null });
  });
});

test.for(['access_token=x', '%61ccess_token=x'])(
  'R-31: answers a header and a token in the query with 400: %s',
  async (query) => {
    const token = await world.token();
    expect(await world.send(`/plain?${query}`, { token })).toMatchObject({ status: 400 });
    expect(await world.post(`/mcp?${query}`, token, toolCall('get_x'))).toMatchObject({ status: 400 });
    expect(await world.send('/plain?access_tokens=x&y=access_token', { token })).toMatchObject({ status: 200 });
  },
);

// test/mcp/message.test.ts has the table of bodies.
describe('bodies', () => {
  const rows: readonly (readonly [what: string, body: string, status: number, code: number])[] = [
    ['over the limit', `{"jsonrpc":"2.0","id":7,"method":"${'x'.repeat(1024)}"}`, 413, -32600],
    ['not JSON', '{"jsonrpc":', 400, -32700],
    ['a duplicate key', '{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/call"}', 400, -32600],
  ];
  test.for(rows)('R-98: refuses a body on an MCP route: %s', async ([, body, status, code]) => {
    const before = world.upstream.seen.length;
    const answer = await world.post('/mcp', await world.token(), body);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code } });
    expect(world.upstream.seen.length).toBe(before);
  });

  test('R-99: does not read a body on an HTTP route', async () => {
    const body = `{${'x'.repeat(4096)}`;
    expect(await world.post('/plain', await world.token(), body)).toMatchObject({ status: 200 });
    expect(world.upstream.seen.at(-1)?.body).toBe(body);
  });

  test('R-102: refuses a header that names another method or tool than the body', async () => {
    for (const [method, name] of [
      ['tools/list', 'get_x'],
      ['tools/call', 'get_y'],
    ] as const) {
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': name };
      const { status, text } = await world.post('/mcp', await world.token(), toolCall('get_x', 'r1'), headers);
      expect(status).toBe(400);
      expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', id: 'r1', error: { code: -32020 } });
    }
  });
});

describe('event streams', () => {
  test('R-137: streams without a length and asks proxies not to buffer', async () => {
    const { headers, text } = await world.post('/mcp', await world.token(), toolCall('get_x'));
    expect(text).toBe('data: x\n\n');
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'transfer-encoding': 'chunked',
      'x-accel-buffering': 'no',
    });
    expect(headers.has('content-length')).toBe(false);
    expect(headers.has('content-encoding')).toBe(false);
  });

  test('R-137: leaves the length and the buffering of other answers alone', async () => {
    const { headers } = await world.send('/plain', { token: await world.token() });
    expect([headers.get('content-length'), headers.get('x-accel-buffering')]).toEqual(['9', 'yes']);
  });
});

describe('answers of the gateway itself', () => {
  test.for([7, 'seven'])(
    'R-25, R-28: refuses with the id %j of the request, the reason and the decision, and no more',
    async (id) => {
      const { text, headers } = await world.post('/mcp', await world.token(), toolCall('drop', id));
      expect(headers.get('content-type')).toBe('application/json');
      const { decision } = (JSON.parse(text) as { error: { data: { decision: string } } }).error.data;
      expect(JSON.parse(text)).toEqual({
        jsonrpc: '2.0',
        id,
        error: { code: 403, message: 'Access denied', data: { reason: 'tool.unlisted', decision } },
      });
      await world.gateway.line({ msg: 'decision', decision });
    },
  );

  test('R-25: refuses with the id null where it did not read the body', async () => {
    for (const answer of [await mcp(), await world.post('/mcp', await world.token(), '{')]) {
      expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: '2.0', id: null });
    }
  });

  test.for([
    ['GET /plain HTTP/1.1', 401],
    ['GET /nowhere HTTP/1.1', 404],
    ['NONSENSE', 400],
    ['GET /.well-known/oauth-protected-resource/mcp HTTP/1.1', 200],
  ] as const)('R-27: sends an X-Request-Id of its own for %s', async ([line, status]) => {
    const raw = await world.sendRaw(line, 'Host: gateway.test', 'X-Request-Id: forged');
    expect(raw).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(raw).toMatch(/^x-request-id: [0-9a-f-]{36}\r$/im);
    expect(raw).not.toContain('forged');
  });

  test('R-21, R-22: writes challenges that careless clients can parse, with the same bytes each time', async () => {
    const seen = new Set<string>();
    for (const token of [undefined, 'unknown', await world.token({ scope: 'x' }), await world.token({ scope: 'x' })]) {
      for (const path of ['/plain', '/api', '/mcp']) {
        const { challenge } =
          path === '/mcp' ? await mcp(token) : await world.send(path, token === undefined ? {} : { token });
        seen.add(challenge ?? '');
      }
    }
    for (const challenge of seen) {
      expect(challenge).toMatch(
        /^Bearer(?: error="[a-z_]+"(?:, scope="[!#-[\]-~]+(?: [!#-[\]-~]+)*")?(?:, resource_metadata="[!#-[\]-~]+")?(?:, error_description="[^"=\\]+")?)?$/,
      );
    }
    expect(seen.size).toBe(6);
  });
});

function withAuthorization(value: string): Promise<{ status: number; challenge: string | null }> {
  return world.send('/plain', { headers: { authorization: value } });
}

// test/tokens/credentials.test.ts has the table of values.
test.for([
  ['bearer', 200],
  ['Bearer a', 401],
] as const)('R-29, RFC 6750 §2.1: answers a token after "%s" with %d', async ([scheme, status]) => {
  expect(await withAuthorization(`${scheme} ${await world.token()}`)).toMatchObject({ status });
});

test('R-30, RFC 6750 §2.2, RFC 6750 §2.3: ignores a token in a form or in the query', async () => {
  const token = await world.token();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const noToken = { status: 401, challenge: 'Bearer' };
  expect(await world.send('/plain', { method: 'POST', headers, body: `access_token=${token}` })).toMatchObject(noToken);
  expect(await world.send(`/plain?access_token=${token}`)).toMatchObject(noToken);
});

test('R-31, RFC 6750 §3.1: answers two Authorization headers with 400', async () => {
  const token = await world.token();
  const raw = await world.sendRaw(
    'GET /plain HTTP/1.1',
    'Host: gateway.test',
    `Authorization: Bearer ${token}`,
    'Authorization: Basic eA==',
  );
  expect(raw).toMatch(/^HTTP\/1\.1 400 /);
});

test.for(['Basic YWxpY2U6c2VjcmV0', 'DPoP abc'])(
  'R-13, RFC 6750 §3.1: sends no error code for an unsupported scheme: %s',
  async (value) => {
    expect(await withAuthorization(value)).toMatchObject({ status: 401, challenge: 'Bearer' });
  },
);
