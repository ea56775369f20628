import { beforeEach, describe, expect, test } from 'vitest';
import { type McpWorld, modernRequest, request, startMcpWorld } from '../worlds/mcp.ts';
import { startTestGateway } from '../support/gateway.ts';
import { postCall } from '../support/mcp-message.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';

const policy = `
scope: read
tools:
  "get_*": {}
  transfer:
    scope: payments
    because: Transfers above 1000 need a supervisor.
    approval:
      when: { arguments: { /amount: { above: 1000 } } }
      by: { claims: { role: supervisor } }
  confirm: { approval: { by: {}, self: true } }
  quick: { approval: { by: {}, self: true, wait: 1s, valid: 1s } }
  counted: { quota: [{ count: 1, per: 1h }], approval: { by: {}, self: true } }
  secretive: { approval: { by: { claims: { role: supervisor } }, shows: [/amount] } }
`;
const top = 'approvals: { authorization_servers: [main] }';
const okAnswer = { jsonrpc: '2.0', id: 1, result: { content: [] } };

interface View {
  readonly id: string;
  readonly status: string;
  readonly digest: string;
  readonly call: Record<string, unknown>;
}

/** What people and callers do in a world. */
function people(world: () => McpWorld) {
  const caller = (sub = 'alice', more: object = {}) => ({
    claims: { sub, scope: 'read payments', client_id: 'agent', ...more },
  });
  const call = async (name: string, args: object, sub = 'alice', more: object = {}): Promise<Response> =>
    world().send(request('tools/call', { name, arguments: args }), caller(sub, more));
  const api = async (sub: string, path: string, decision?: object, claims: object = {}): Promise<Response> =>
    fetch(`${world().gateway.url}/approvals${path}`, {
      method: decision === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${await world().token({ sub, aud: 'http://gateway.test/approvals', ...claims })}`,
        ...(decision !== undefined && { 'content-type': 'application/json' }),
      },
      ...(decision !== undefined && { body: JSON.stringify(decision) }),
    });
  const eve = { role: 'supervisor' };
  const waitingId = async (response: Response): Promise<string> => {
    const body = (await response.json()) as { error: { data: { approval: { id: string } } } };
    return body.error.data.approval.id;
  };
  const view = async (id: string): Promise<View> =>
    (await api('eve', `/${id}`, undefined, eve)).json() as Promise<View>;
  const decide = async (id: string, decision: string, sub = 'eve', claims: object = eve): Promise<Response> =>
    api(sub, `/${id}`, { decision, digest: (await view(id)).digest }, claims);
  return { caller, call, api, eve, waitingId, view, decide };
}

describe('one gateway', () => {
  const world = startBeforeAll(() => startMcpWorld({ policy, top }));
  beforeEach(() => {
    world.handle = (_request, response) => sendJson(response, 200, okAnswer);
    world.upstream.seen.length = 0;
  });
  const { caller, call, api, eve, waitingId, view, decide } = people(() => world);

  test('R-298: refuses a call that needs an approval, and says where it can be approved', async () => {
    const response = await call('transfer', { amount: 5000, to: 'x' });
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toBeNull();
    const { error } = (await response.json()) as { error: { data: Record<string, unknown> } };
    const url = expect.stringMatching(/^http:\/\/gateway\.test\/approvals\/[\w-]{22}$/) as string;
    expect(error.data).toMatchObject({
      reason: 'approval.required',
      because: 'Transfers above 1000 need a supervisor.',
      approval: { id: expect.any(String), url, expires_at: expect.stringMatching(/Z$/) },
    });
    expect(world.upstream.seen).toHaveLength(0);
    expect((await call('transfer', { amount: 1000, to: 'x' })).status).toBe(200);
  });

  test('R-299: lets an approved call pass once', async () => {
    const id = await waitingId(await call('transfer', { amount: 2000, to: 'bob' }));
    expect(await waitingId(await call('transfer', { to: 'bob', amount: 2e3 }))).toBe(id);
    expect(await view(id)).toMatchObject({
      status: 'pending',
      call: {
        route: 'tools',
        method: 'tools/call',
        name: 'transfer',
        arguments: { amount: 2000, to: 'bob' },
        hidden: 0,
      },
      caller: { subject: 'alice', client: 'agent' },
      because: 'Transfers above 1000 need a supervisor.',
    });
    expect((await decide(id, 'approve')).status).toBe(200);
    const calls = Array.from({ length: 50 }, async () => call('transfer', { amount: 2000, to: 'bob' }));
    const answers = await Promise.all(calls);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(world.upstream.seen).toHaveLength(1);
    expect(await view(id)).toMatchObject({ status: 'used' });
    await world.gateway.line({ msg: 'decision', allow: true, tool: 'transfer', approval: id });
  });

  test.each<[what: string, params: object, sub?: string, more?: object]>([
    ['another amount', { arguments: { amount: 3001, to: 'bob' } }],
    ['one more argument', { arguments: { amount: 3000, to: 'bob', note: '' } }],
    ['another caller', {}, 'mallory'],
    ['another client', {}, 'alice', { client_id: 'other' }],
    ['another member of the parameters', { task: {} }],
  ])('R-300: %s is another call', async (_what, params, sub, more) => {
    const call = (other: object, ...by: [sub?: string, more?: object]): Promise<Response> =>
      world.send(
        request('tools/call', { name: 'transfer', arguments: { amount: 3000, to: 'bob' }, ...other }),
        caller(...by),
      );
    const id = await waitingId(await call({}));
    await decide(id, 'approve');
    expect((await call(params, sub, more)).status).toBe(403);
    expect((await call({})).status).toBe(200);
  });

  test('R-300: numbers count by their exact value', async () => {
    const send = async (amount: string): Promise<Response> => {
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"transfer","arguments":{"amount":${amount}}}}`;
      const { status, text } = await world.post('/mcp', await world.token(caller().claims), body);
      return new Response(text, { status });
    };
    const id = await waitingId(await send('9007199254740993'));
    expect(await (await api('eve', `/${id}`, undefined, eve)).text()).toContain('"amount":9007199254740993}');
    await decide(id, 'approve');
    expect((await send('9007199254740992')).status).toBe(403);
    expect((await send('9007199254740993.0')).status).toBe(200);
  });

  test('R-301: only those whom `by` admits decide, and the caller only for itself where `self` says so', async () => {
    const id = await waitingId(await call('transfer', { amount: 4000 }, 'eve', { role: 'supervisor' }));
    const { digest } = (await (await api('dan', `/${id}`, undefined, eve)).json()) as View;
    const approve = { decision: 'approve', digest };
    expect((await api('mallory', `/${id}`)).status).toBe(404);
    expect((await api('mallory', `/${id}`, approve)).status).toBe(404);
    expect((await api('mallory', '/AAAAAAAAAAAAAAAAAAAAAA', approve)).status).toBe(404);
    expect((await api('eve', `/${id}`, approve, eve)).status).toBe(403);
    expect(Object.keys((await (await api('eve', `/${id}`, undefined, eve)).json()) as object)).toEqual([
      'id',
      'status',
      'expires_at',
    ]);
    expect(await (await api('eve', '', undefined, eve)).json()).not.toMatchObject({ approvals: [{ id }] });
    expect((await api('dan', `/${id}`, { ...approve, digest: 'x' }, eve)).status).toBe(409);
    expect((await api('dan', `/${id}`, { decision: 'perhaps', digest }, eve)).status).toBe(400);
    expect((await api('dan', `/${id}`, approve, eve)).status).toBe(200);
    expect((await api('dan', `/${id}`, approve, eve)).status).toBe(409);

    const own = await waitingId(await call('confirm', {}));
    expect((await decide(own, 'approve', 'alice', { client_id: 'phone' })).status).toBe(200);
    expect((await call('confirm', {})).status).toBe(200);
  });

  test('R-302: a denial holds until it is withdrawn', async () => {
    const id = await waitingId(await call('transfer', { amount: 6000 }));
    await decide(id, 'deny');
    const refused = await call('transfer', { amount: 6000 });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ error: { data: { reason: 'approval.denied' } } });
    expect((await decide(id, 'withdraw')).status).toBe(200);
    expect(await waitingId(await call('transfer', { amount: 6000 }))).not.toBe(id);
    expect((await decide(id, 'approve')).status).toBe(410);
  });

  test('R-302: what was not used in time cannot be used, nor decided', async () => {
    const id = await waitingId(await call('quick', {}));
    await decide(id, 'approve', 'alice', {});
    world.advance(2);
    const next = await waitingId(await call('quick', {}));
    expect(next).not.toBe(id);
    await world.gateway.line({ msg: 'approval', event: 'expired', approval: id });
  });

  test('R-303: an upstream that was not reached leaves an approval unused, its errors do not', async () => {
    const id = await waitingId(await call('transfer', { amount: 7000 }));
    await decide(id, 'approve');
    world.handle = (_request, response) => void response.writeHead(500).end();
    expect((await call('transfer', { amount: 7000 })).status).toBe(500);
    expect((await call('transfer', { amount: 7000 })).status).toBe(403);
  });

  test('R-303: a quota that refuses is no request, and a waiting request counts nothing', async () => {
    const id = await waitingId(await call('counted', { n: 1 }));
    const other = await waitingId(await call('counted', { n: 2 }));
    await decide(id, 'approve', 'alice', {});
    expect((await call('counted', { n: 1 })).status).toBe(200);
    for (const n of [2, 3]) expect((await call('counted', { n })).status).toBe(429);
    expect((await (await api('alice', '')).json()) as { approvals: View[] }).toMatchObject({
      approvals: expect.arrayContaining([expect.objectContaining({ id: other })]) as View[],
    });
  });

  test('R-304: shows what `shows` allows, and to the approver who asks for it the rest', async () => {
    const id = await waitingId(await call('secretive', { amount: 1, pin: '1234', more: { a: 1, b: [2, 3] } }));
    const unshown = { arguments: { pin: '1234', more: { a: 1, b: [2, 3] } } };
    expect((await view(id)).call).toMatchObject({ arguments: { amount: 1 }, hidden: 4, unshown });
    expect(await (await api('eve', '', undefined, eve)).text()).not.toContain('1234');
  });

  test('R-304: refuses a call that binds more than 64 KiB, also where `shows` hides most of it', async () => {
    const note = 'x'.repeat(64 * 1024);
    const refused = await call('transfer', { amount: 5000, note });
    expect(refused.status).toBe(413);
    expect(await refused.text()).toContain('Too large to be approved');
    await world.gateway.line({ msg: 'decision', reason: 'approval.size' });
    expect((await call('secretive', { amount: 2, note })).status).toBe(413);
  });

  /** Calls `confirm` as a client of MCP 2026-07-28. */
  async function modern(params: object, capabilities: object = {}): Promise<Response> {
    const { message, headers } = modernRequest('tools/call', { name: 'confirm', ...params }, capabilities);
    return world.send(message, { claims: { sub: 'alice', scope: 'read', client_id: 'agent' }, headers });
  }

  test('R-305: the rounds of one call are one call, each once', async () => {
    const round = (params: object): Promise<Response> => modern({ arguments: { round: 1 }, ...params });
    const id = await waitingId(await round({}));
    await decide(id, 'approve', 'alice', {});
    const rounds = ['first', 'second'];
    world.handle = (_request, response) => {
      const state = rounds.shift();
      const result =
        state === undefined
          ? { resultType: 'complete', content: [] }
          : { resultType: 'input_required', requestState: state, inputRequests: {} };
      sendJson(response, 200, { jsonrpc: '2.0', id: 1, result });
    };
    const stateOf = async (response: Response): Promise<string> => {
      expect(response.status).toBe(200);
      return ((await response.json()) as { result: { requestState: string } }).result.requestState;
    };
    const first = await stateOf(await round({}));
    const second = await stateOf(await round({ requestState: first, inputResponses: {} }));
    expect((await round({ requestState: first, inputResponses: {} })).status).toBe(403);
    expect((await round({ requestState: second, arguments: { round: 2 } })).status).toBe(403);
    expect((await round({ requestState: second, inputResponses: {} })).status).toBe(200);
    expect((await round({})).status).toBe(403);
  });

  test('R-306: sends the user of a client that opens pages to the page, and keeps its state to itself', async () => {
    const opening = (params: object): Promise<Response> =>
      modern({ arguments: { opens: true }, ...params }, { elicitation: { url: {} } });
    interface Asked {
      readonly result: {
        readonly requestState: string;
        readonly inputRequests: Record<string, { params: { url: string } }>;
      };
    }
    const asked = await opening({});
    expect(asked.status).toBe(200);
    const { result } = (await asked.json()) as Asked;
    expect(result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
    const [[key, { params }] = ['', { params: { url: '' } }]] = Object.entries(result.inputRequests);
    expect(params).toMatchObject({ mode: 'url', message: 'This call needs an approval' });
    const id = params.url.split('/').at(-1) ?? '';
    const repeated = { requestState: result.requestState, inputResponses: { [key]: { action: 'accept' } } };
    expect(((await (await opening(repeated)).json()) as Asked).result.inputRequests).toEqual(result.inputRequests);
    await decide(id, 'approve', 'alice', {});
    expect((await opening(repeated)).status).toBe(200);
    const [sent] = world.upstream.seen;
    expect(Object.keys((JSON.parse(String(sent?.body)) as { params: object }).params)).toEqual([
      'name',
      'arguments',
      '_meta',
    ]);
  });

  test('R-307: the API has protected resource metadata of its own', async () => {
    const of = async (path: string): Promise<unknown> => (await fetch(`${world.gateway.url}${path}`)).json();
    expect(await of('/.well-known/oauth-protected-resource/approvals')).toMatchObject({
      resource: 'http://gateway.test/approvals',
      authorization_servers: [world.issuer.url],
    });
    expect(await of('/.well-known/oauth-protected-resource')).toMatchObject({ resource: 'http://gateway.test/mcp' });
    const unsigned = await fetch(`${world.gateway.url}/approvals`);
    expect(unsigned.status).toBe(401);
    expect(unsigned.headers.get('www-authenticate')).toContain(
      'resource_metadata="http://gateway.test/.well-known/oauth-protected-resource/approvals"',
    );
  });

  test.each(['/approvals', '/approvals/AAAAAAAAAAAAAAAAAAAAAA'])(
    'R-307: says to a person in a browser how a call is decided: %s',
    async (path) => {
      const page = await fetch(world.gateway.url + path, { headers: { accept: 'text/html,*/*;q=0.8' } });
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(await page.text()).toContain('sallyport approvals approve');
      const token = await world.token({ aud: 'http://gateway.test/approvals' });
      const headers = { accept: 'text/html', authorization: `Bearer ${token}` };
      expect((await fetch(world.gateway.url + path, { headers })).headers.get('content-type')).toContain('json');
    },
  );

  test.each<[what: string, status: number, body: (digest: string) => string, type?: string]>([
    ['two decisions', 400, (digest) => `{"decision":"deny","digest":"${digest}","decision":"approve"}`],
    ['two that differ in case', 400, (digest) => `{"Decision":"deny","decision":"approve","digest":"${digest}"}`],
    ['a further member', 400, (digest) => `{"decision":"approve","digest":"${digest}","by":"eve"}`],
    ['a list', 400, () => '[]'],
    ['null', 400, () => 'null'],
    ['nothing', 400, () => ''],
    ['a text', 415, (digest) => `{"decision":"approve","digest":"${digest}"}`, 'text/plain'],
    ['a form', 415, (digest) => `{"decision":"approve","digest":"${digest}"}`, 'application/x-www-form-urlencoded'],
    ['a charset', 200, (digest) => `{"decision":"approve","digest":"${digest}"}`, 'Application/JSON; charset=utf-8'],
  ])('R-301: reads %s as %i', async (what, status, body, type = 'application/json') => {
    const id = await waitingId(await call('transfer', { amount: 5000, what }));
    const { digest } = await view(id);
    const token = await world.token({ sub: 'eve', aud: 'http://gateway.test/approvals', ...eve });
    const answer = await fetch(`${world.gateway.url}/approvals/${id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      body: body(digest),
    });
    expect(answer.status).toBe(status);
    expect(await view(id)).toMatchObject({ status: status === 200 ? 'approved' : 'pending' });
  });

  test('R-308: logs and counts what happens, and never arguments', async () => {
    const id = await waitingId(await call('transfer', { amount: 8000, to: 'the-secret-account' }));
    await decide(id, 'approve');
    await call('transfer', { amount: 8000, to: 'the-secret-account' });
    expect(await world.gateway.line({ msg: 'approval', event: 'requested', approval: id })).toMatchObject({
      route: 'tools',
      subject: 'alice',
      client_id: 'agent',
    });
    expect(await world.gateway.line({ msg: 'approval', event: 'approved', approval: id })).toMatchObject({ by: 'eve' });
    await world.gateway.line({ msg: 'approval', event: 'used', approval: id });
    const metrics = await world.gateway.metrics();
    expect(metrics).toMatch(/sallyport_approvals_total\{route="tools",event="used"\} \d/);
    expect(metrics).toMatch(/sallyport_approvals_total\{route="tools",event="requested"\} \d/);
  });

  test('R-309: a caller has at most 100 requests', async () => {
    for (let n = 0; n < 100; n += 1) expect((await call('confirm', { n }, 'flooder')).status).toBe(403);
    const full = await call('confirm', { n: 100 }, 'flooder');
    expect(full.status).toBe(503);
    expect(full.headers.get('retry-after')).not.toBeNull();
    expect((await call('confirm', { n: 0 }, 'another')).status).toBe(403);
  });
});

describe.runIf(hasRedis)('two replicas', () => {
  const redis = startBeforeAll(startRedis);
  const shared = (): string => `shared: ${redis.url}\nsession_key: Kx7-0123456789abcdef0123456789abcdef\n${top}`;
  const one = startBeforeAll(() => startMcpWorld({ policy, top: shared() }));
  const other = startBeforeAll(() =>
    startTestGateway({
      yaml: `${shared()}
authorization_servers: { main: { issuer: '${one.issuer.url}', jwt: { algorithms: [RS256] } } }
routes: [{ name: tools, path: /mcp, protocol: mcp, policy: tools, upstream: { url: '${one.upstream.url}/mcp' } }]`,
      policies: { tools: policy },
    }),
  );
  const { caller, waitingId, decide, view } = people(() => one);
  const send = async (url: string, amount: number): Promise<Response> =>
    postCall(`${url}/mcp`, 'transfer', { amount }, { token: await one.token(caller().claims) });

  test('R-310: one approval lets one of 50 parallel repeats on two replicas pass', async () => {
    for (const url of [one.gateway.url, other.url])
      await expect.poll(async () => (await send(url, 9999)).status).toBe(403);
    const id = await waitingId(await send(other.url, 5000));
    expect(await waitingId(await send(one.gateway.url, 5000))).toBe(id);
    expect((await decide(id, 'approve')).status).toBe(200);
    const urls = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? one.gateway.url : other.url));
    const answers = await Promise.all(urls.map(async (url) => send(url, 5000)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await view(id)).toMatchObject({ status: 'used' });
    const records = await Promise.all(
      (await redis.client.keys('*:r:*')).map(async (key) => JSON.stringify(await redis.client.hGetAll(key))),
    );
    const everything = [...(await redis.client.keys('*')), ...records].join(' ');
    expect(everything).not.toContain('alice');
    expect(everything).not.toContain('supervisor');
  });

  test('R-311: a writer of the store can forge no approval', async () => {
    const id = await waitingId(await send(other.url, 6000));
    for (const key of await redis.client.keys('sallyport:v1:approvals:*:r:*'))
      await redis.client.hSet(key, { status: 'approved', proof: 'forged' });
    expect((await send(other.url, 6000)).status).toBe(503);
    expect(one.upstream.seen.filter(({ body }) => body.includes('6000'))).toEqual([]);
    expect(id).toHaveLength(22);
  });
});
