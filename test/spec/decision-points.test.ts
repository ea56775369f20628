import { afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { DecisionRecord } from '../../src/core/model/decision.ts';
import { isPolicyDecision, recordedDecision } from '../../src/analysis/review/recorded-decision.ts';
import { traefikCall } from '../forward-auth/ask.ts';
import { allows, json, metadataOf, noMetadata, startPdp } from '../support/decision-point.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import type { RequestHandler } from '../support/upstream.ts';
import { startWorld } from '../worlds/gateway.ts';
import { type McpWorld, modernRequest, request, startMcpWorld } from '../worlds/mcp.ts';

const policy = `
scope: read
tools:
  transfer: { claims: { role: trader } }
  counted: { quota: [{ count: 1, per: 1h }] }
resources: { "file:///**": {} }
prompts: { greet: {} }
methods: { "x/other": {} }
`;
const claims = { sub: 'alice', scope: 'read pay', client_id: 'agent', role: 'trader', secret_note: 'not read' };
function yamlOf(url: string, more = 'timeout: 10s'): string {
  return `decision_points: { acme: { url: "${url}/base", token: pdp-token-1234, ${more} } }`;
}

const pdp = startBeforeAll(startPdp);
let world: McpWorld;

interface Start {
  /** Default: the one that all share. */
  readonly at?: typeof pdp;
  /** More members of the decision point; default: a timeout that no machine is too slow for. */
  readonly more?: string;
  /** More lines at the top level. */
  readonly top?: string;
  /** More lines of the route. */
  readonly route?: string;
  readonly policy?: string;
}

async function start({ at = pdp, more, top = '', route = '', policy: of = policy }: Start = {}): Promise<void> {
  world = await startMcpWorld({
    policy: of,
    top: `${yamlOf(at.server.url, more)}\n${top}`,
    route: `decision_point: acme\n    ${route}`,
  });
}

/** Starts the world of a block, and closes it after the tests of the block. */
function startForAll(options?: Start): void {
  beforeAll(async () => {
    await start(options);
    return () => world.close();
  });
  afterEach(() => {
    world.upstream.seen.length = 0;
  });
}

const call = async (method: string, params: object = {}, own: object = {}): Promise<Response> =>
  world.send(request(method, params), { claims: { ...claims, ...own } });
const transfer = async (own: object = {}): Promise<Response> =>
  call('tools/call', { name: 'transfer', arguments: { amount: 1 } }, own);
const lastReason = async (): Promise<unknown> => (await world.gateway.decision())['reason'];
const questionBodies = (): unknown[] => pdp.questions().map(({ body }) => JSON.parse(body) as unknown);

afterEach(() => {
  pdp.evaluation = json(200, allows);
  pdp.metadata = noMetadata;
  pdp.server.seen.length = 0;
});

describe('on an MCP route', () => {
  startForAll();

  test('R-334: a call passes that the policy and the decision point allow', async () => {
    expect((await transfer()).status).toBe(200);
    const [question] = pdp.questions();
    expect(question?.url).toBe('/base/access/v1/evaluation');
    expect(question?.headers).toMatchObject({
      authorization: 'Bearer pdp-token-1234',
      'content-type': 'application/json',
      'x-request-id': expect.stringMatching(/^[\w-]{10,}$/) as string,
    });
    expect(JSON.parse(question?.body ?? '')).toEqual({
      subject: {
        type: 'identity',
        id: 'alice',
        properties: { issuer: world.issuer.url, scope: 'read pay', role: 'trader' },
      },
      action: { name: 'tools/call' },
      resource: { type: 'tool', id: 'transfer' },
      context: { agent: 'agent' },
    });
  });

  test('R-334: nothing is sent for what the policy refuses, by a condition or over time', async () => {
    expect((await transfer({ role: 'guest' })).status).toBe(403);
    expect(pdp.questions()).toEqual([]);
    const counted = async () => call('tools/call', { name: 'counted' }, { sub: 'bob' });
    expect((await counted()).status).toBe(200);
    expect((await counted()).status).toBe(429);
    expect(pdp.questions()).toHaveLength(1);
  });

  test('R-334: a denial is 403, reaches no upstream, and gives back what the call had counted', async () => {
    const counted = async () => call('tools/call', { name: 'counted' }, { sub: 'carol' });
    pdp.evaluation = json(200, '{"decision":false,"context":{"reason":"too late in the day"}}');
    const before = world.upstream.seen.length;
    const answer = await counted();
    expect(answer.status).toBe(403);
    expect(await answer.text()).not.toContain('too late');
    const { reason, detail } = await world.gateway.decision();
    expect({ reason, detail }).toEqual({
      reason: 'decision_point.denied',
      detail: 'acme denies the call: too late in the day',
    });
    expect(world.upstream.seen).toHaveLength(before);
    pdp.evaluation = json(200, allows);
    expect((await counted()).status).toBe(200);
  });

  test('R-334: acr_values ask for another sign-in, if a challenge can carry them', async () => {
    pdp.evaluation = json(200, '{"decision":false,"context":{"acr_values":"gold silver"}}');
    const answer = await transfer();
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(
      /^Bearer error="insufficient_user_authentication", acr_values="gold silver", scope="read"/,
    );
    for (const acr of ['"gold\\", scope=\\"all"', '["gold"]', '""', '"go  ld"', `"${'x'.repeat(600)}"`]) {
      pdp.evaluation = json(200, `{"decision":false,"context":{"acr_values":${acr}}}`);
      expect((await transfer()).status).toBe(403);
    }
  });

  test('R-334: replay attributes no refusal of the decision point to the policy', async () => {
    const refused = async (): Promise<DecisionRecord> => {
      await transfer();
      return recordedDecision(await world.gateway.decision()) as DecisionRecord;
    };
    pdp.evaluation = json(200, '{"decision":false}');
    const denied = await refused();
    pdp.evaluation = json(200, '{"decision":false,"context":{"acr_values":"gold"}}');
    const challenged = await refused();
    expect([denied.reason, challenged.reason]).toEqual(['decision_point.denied', 'authentication.insufficient']);
    expect([denied, challenged].map(isPolicyDecision)).toEqual([false, false]);
    expect(isPolicyDecision({ ...challenged, rule: 'acr' })).toBe(true);
  });

  test('R-334: a permission with obligations is a denial', async () => {
    for (const obligations of ['[{"type":"notification"}]', '{"a":1}', 'null']) {
      pdp.evaluation = json(200, `{"decision":true,"context":{"obligations":${obligations}}}`);
      expect((await transfer()).status).toBe(403);
    }
    pdp.evaluation = json(200, '{"decision":true,"context":{"obligations":[],"note":"x"}}');
    expect((await transfer()).status).toBe(200);
  });

  // test/capabilities/decision-points/question.test.ts has the table of methods.
  test.for([
    ['initialize', { protocolVersion: '2025-06-18' }, { type: 'mcp_server' }, { protocol_version: '2025-06-18' }],
    ['logging/setLevel', { level: 'debug' }, { type: 'mcp_server' }, { level: 'debug' }],
    ['resources/read', { uri: 'file:///a' }, { type: 'resource', id: 'file:///a' }, {}],
  ] as const)('R-335: %s is asked about by the default mapping', async ([method, params, resource, context]) => {
    await (await call(method, params)).text();
    expect(questionBodies()).toMatchObject([{ action: { name: method }, resource }]);
    expect(questionBodies()).toMatchObject([{ context: { agent: 'agent', ...context } }]);
    expect(JSON.stringify(questionBodies())).not.toContain('arguments');
  });

  test('R-335: a ping, a notification and a response are not asked about', async () => {
    expect((await call('ping', {}, { sub: undefined })).status).toBe(200);
    await world.send({ jsonrpc: '2.0', method: 'notifications/initialized' }, { claims });
    await world.send({ jsonrpc: '2.0', id: 1, result: {} }, { claims });
    expect(pdp.questions()).toEqual([]);
  });

  test('R-335: a method without a mapping and a token without subject are refused unasked', async () => {
    expect((await call('x/other')).status).toBe(403);
    expect(await lastReason()).toBe('decision_point.denied');
    expect((await transfer({ sub: undefined })).status).toBe(403);
    expect(pdp.questions()).toEqual([]);
  });

  test('R-334: a result that caches may share becomes private: the decision point knows callers', async () => {
    const result = { contents: [], resultType: 'complete', cacheScope: 'public', ttlMs: 1000 };
    world.handle = json(200, { jsonrpc: '2.0', id: 1, result });
    const { message, headers } = modernRequest('resources/read', { uri: 'file:///a' });
    const answer = await world.send(message, { claims, headers });
    expect(await answer.text()).toContain('"cacheScope":"private"');
    world.handle = json(200, '{}');
  });
});

describe('on a route with approvals', () => {
  const approval = 'approval: { by: {}, self: true }';
  startForAll({
    policy: `tools: { once: { quota: [{ count: 1, per: 1h }], ${approval} }, other: { ${approval} } }`,
    top: 'approvals: { authorization_servers: [main] }',
  });
  const token = (): Promise<string> => world.token({ ...claims, aud: 'http://gateway.test/approvals' });
  const waiting = async (): Promise<readonly { id: string; digest: string; status: string }[]> => {
    const headers = { authorization: `Bearer ${await token()}` };
    const answer = await fetch(`${world.gateway.url}/approvals`, { headers });
    return ((await answer.json()) as { approvals: { id: string; digest: string; status: string }[] }).approvals;
  };
  const once = async (): Promise<Response> => call('tools/call', { name: 'once' });

  test('R-334: no person is asked about a call that the decision point denies', async () => {
    pdp.evaluation = json(200, '{"decision":false}');
    expect((await call('tools/call', { name: 'other' })).status).toBe(403);
    expect(await lastReason()).toBe('decision_point.denied');
    expect((await waiting()).filter(({ status }) => status === 'pending')).toEqual([]);
  });

  test('R-334: the decision point decides again when the call is approved, and its denial leaves the approval', async () => {
    await once();
    expect(await lastReason()).toBe('approval.required');
    const [request] = await waiting();
    const decision = JSON.stringify({ decision: 'approve', digest: request?.digest });
    const decided = await world.post(`/approvals/${request?.id}`, await token(), decision);
    expect(decided.status).toBe(200);
    pdp.evaluation = json(200, '{"decision":false}');
    expect((await once()).status).toBe(403);
    expect(await lastReason()).toBe('decision_point.denied');
    expect((await waiting()).map(({ status }) => status)).toEqual(['approved']);
    pdp.evaluation = json(200, allows);
    expect((await once()).status).toBe(200);
    // The only call of the quota: the decision point is not asked about the next.
    pdp.server.seen.length = 0;
    expect((await once()).status).toBe(429);
    expect(pdp.questions()).toEqual([]);
  });
});

describe('without a decision', () => {
  startForAll({ more: 'timeout: 1500ms' });

  // test/capabilities/decision-points/decision-point.test.ts has the table.
  test.for<readonly [string, RequestHandler]>([
    ['a 403', json(403, allows)],
    ['a decision that is a text', json(200, '{"decision":"true"}')],
    ['silence', () => {}],
  ])('R-336: %s refuses the call with 503', async ([, handle]) => {
    pdp.evaluation = handle;
    const answer = await transfer();
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]/);
    expect(await lastReason()).toBe('decision_point.unavailable');
    expect(world.upstream.seen).toEqual([]);
    // No fault lasts longer than itself.
    pdp.evaluation = json(200, allows);
    expect((await transfer()).status).toBe(200);
  });

  test('R-336: five failures in a row stop the questions, until a trial succeeds', async () => {
    pdp.evaluation = json(503, '{}');
    for (let index = 0; index < 5; index += 1) expect((await transfer()).status).toBe(503);
    const asked = pdp.questions().length;
    expect((await transfer()).status).toBe(503);
    expect(pdp.questions()).toHaveLength(asked);
    pdp.evaluation = json(200, allows);
    world.advance(31);
    expect((await transfer()).status).toBe(200);
  });
});

test('R-337: name the endpoint, and are read once an hour', async () => {
  // Gateways of other tests read metadata of the shared one when they start.
  const own = await forThisTest(startPdp());
  own.metadata = metadataOf(own);
  await start({ at: own });
  onTestFinished(() => world.close());
  expect((await Promise.all([transfer(), transfer()])).map(({ status }) => status)).toEqual([200, 200]);
  expect(own.server.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /.well-known/authzen-configuration/base',
    'POST /ask',
    'POST /ask',
  ]);
  own.metadata = metadataOf(own, { access_evaluation_endpoint: `${own.server.url}/new` });
  world.advance(3_601);
  expect((await transfer({ exp: Math.floor(Date.now() / 1000) + 8_000 })).status).toBe(200);
  expect(own.questions().at(-1)?.url).toBe('/new');
});

describe('on a subscription of MCP 2026-07-28', () => {
  startForAll();

  const listen = async (...resourceSubscriptions: string[]): Promise<number> => {
    const { message, headers } = modernRequest('subscriptions/listen', { notifications: { resourceSubscriptions } });
    return (await world.send(message, { headers, claims })).status;
  };

  test('R-335: each resource is asked about, beside the server', async () => {
    expect(await listen('file:///a', 'file:///b', 'file:///a')).toBe(200);
    expect(questionBodies()).toMatchObject([
      { action: { name: 'subscriptions/listen' }, resource: { type: 'mcp_server', id: 'http://gateway.test/mcp' } },
      { action: { name: 'subscriptions/listen' }, resource: { type: 'resource', id: 'file:///a' } },
      { action: { name: 'subscriptions/listen' }, resource: { type: 'resource', id: 'file:///b' } },
    ]);
  });

  test('R-334: it reaches no server if one of its resources is denied', async () => {
    pdp.evaluation = (incoming, response, body) =>
      json(200, { decision: !body.includes('file:///b') })(incoming, response, body);
    expect(await listen('file:///a')).toBe(200);
    expect(await listen('file:///a', 'file:///b')).toBe(403);
    expect(await lastReason()).toBe('decision_point.denied');
    expect(world.upstream.seen).toHaveLength(1);
  });
});

describe('with arguments', () => {
  startForAll({ more: 'timeout: 10s, arguments: true', route: 'refusals: { final: tool_error }' });

  test('R-335: the decision point gets the numbers as they were written', async () => {
    const message =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"transfer","arguments":{"amount":9007199254740993}}}';
    expect((await world.post('/mcp', await world.token(claims), message)).status).toBe(200);
    expect(pdp.questions()[0]?.body).toContain('"context":{"agent":"agent","arguments":{"amount":9007199254740993}}');
  });

  test.each(['tools/call', 'prompts/get'])(
    'R-335: arguments beside the arguments, of which it would know nothing, are refused: %s',
    async (method) => {
      const params = { name: method === 'tools/call' ? 'transfer' : 'greet', arguments: {} };
      expect((await call(method, params)).status).toBe(200);
      pdp.server.seen.length = 0;
      await call(method, { ...params, secureArguments: { amount: 5 } });
      expect(await world.gateway.decision()).toMatchObject({
        reason: 'decision_point.denied',
        detail: 'params.secureArguments, of which no decision point knows',
      });
      expect(pdp.questions()).toEqual([]);
    },
  );

  test('R-334: a denial can be a tool result that models read', async () => {
    pdp.evaluation = json(200, '{"decision":false}');
    const answer = await transfer();
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ result: { isError: true } });
  });
});

test('R-334: it also decides where the policy only watches, and what a proxy asks', async () => {
  await start({
    policy: 'mode: shadow\ntools: { other: {} }',
    top: "forward_auth: { listen: '127.0.0.1:0', trusted: [127.0.0.1] }",
  });
  onTestFinished(() => world.close());
  const ask = async (): Promise<number> => {
    const message = JSON.stringify(request('tools/call', { name: 'transfer' }));
    return (await traefikCall(world.gateway, await world.token(claims), message)).status;
  };
  expect([(await transfer()).status, await ask()]).toEqual([200, 200]);
  pdp.evaluation = json(200, '{"decision":false}');
  expect([(await transfer()).status, await ask()]).toEqual([403, 403]);
  expect(pdp.questions()).toHaveLength(4);
});

const plain = startBeforeAll(() =>
  startWorld({
    top: yamlOf(pdp.server.url),
    routes: [
      'name: api, path: /api, audience: a, decision_point: acme, upstream: { url: "UPSTREAM", identity: { x-mail: email } }',
    ],
  }),
);

test('R-335: on an HTTP route it is asked about method and path, and claims of identity headers', async () => {
  const token = await plain.token({ sub: 'alice', email: 'a@b.example' });
  expect((await plain.send('/api/orders?page=1', { token, method: 'DELETE' })).status).toBe(200);
  expect(questionBodies()).toEqual([
    {
      subject: {
        type: 'identity',
        id: 'alice',
        properties: { email: 'a@b.example', issuer: plain.issuer.url, scope: '' },
      },
      action: { name: 'DELETE' },
      resource: { type: 'path', id: '/api/orders' },
    },
  ]);
  pdp.evaluation = json(200, '{"decision":false}');
  const reached = plain.upstream.seen.length;
  expect((await plain.send('/api/orders', { token })).status).toBe(403);
  expect(plain.upstream.seen).toHaveLength(reached);
});
