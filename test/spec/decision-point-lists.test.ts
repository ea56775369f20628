import { beforeEach, describe, expect, test } from 'vitest';
import { json, metadataOf, type Pdp, startPdp } from '../support/decision-point.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import type { RequestHandler } from '../support/upstream.ts';
import { type McpWorld, request, startMcpWorld } from '../worlds/mcp.ts';

const policy = `
tools: { one: {}, two: {}, three: {}, theirs: { claims: { role: other } } }
resources: { "file:///**": {} }
prompts: { greet: {} }
`;
const claims = { sub: 'alice', client_id: 'agent' };

/** A gateway whose calls are decided by `pdp` too. */
function startFor({ server }: Pdp, timeout: string): Promise<McpWorld> {
  return startMcpWorld({
    policy,
    top: `decision_points: { acme: { url: "${server.url}", timeout: ${timeout} } }`,
    route: 'decision_point: acme',
  });
}

const pdp = startBeforeAll(startPdp);
const world = startBeforeAll(() => startFor(pdp, '10s'));
beforeEach(() => {
  pdp.server.seen.length = 0;
  answers(...yes('one', 'three'));
});

interface ListBody {
  readonly evaluations?: readonly { readonly resource: { readonly id: string } }[];
}

/** Decides on lists by `list`; allows each call. */
function decide(list: RequestHandler): void {
  pdp.evaluation = (incoming, response, body) => {
    if (incoming.url?.endsWith('/evaluations') === true) list(incoming, response, body);
    else json(200, '{"decision":true}')(incoming, response, body);
  };
}

function answers(...by: readonly ((name: string) => object | undefined)[]): void {
  decide((incoming, response, body) => {
    const { evaluations = [] } = JSON.parse(body) as ListBody;
    const found = evaluations.map(({ resource }) => by.map((each) => each(resource.id)).find(Boolean));
    json(200, { evaluations: found.filter((each) => each !== undefined) })(incoming, response, body);
  });
}

function yes(...names: readonly string[]): readonly ((name: string) => object)[] {
  return [(name) => ({ decision: names.includes(name) })];
}

const listed = (result: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result });
const tools = { tools: ['one', 'two', 'theirs', 'three'].map((name) => ({ name, inputSchema: {} })) };
const asEvents =
  (...messages: readonly string[]): RequestHandler =>
  (_request, response) =>
    void response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(messages.map((each) => `event: message\ndata: ${each}\n\n`).join(''));

const list = async (method = 'tools/list', to = world): Promise<Response> => to.send(request(method), { claims });
const names = (text: string): unknown => [...text.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name);
const listQuestions = (): unknown[] =>
  pdp
    .questions()
    .filter(({ url }) => url.endsWith('/evaluations'))
    .map(({ body }) => JSON.parse(body) as unknown);

test.for<readonly [string, () => RequestHandler]>([
  ['JSON', () => json(200, listed(tools))],
  ['an event stream', () => asEvents(listed(tools))],
  ['an event stream in pieces', () => inPieces],
])('R-346: a list in %s shows what policy and decision point allow, asked in one request', async ([, handle]) => {
  world.handle = handle();
  const answer = await list();
  expect(answer.status).toBe(200);
  expect(names(await answer.text())).toEqual(['one', 'three']);
  expect(listQuestions()).toEqual([
    {
      subject: { type: 'identity', id: 'alice', properties: { issuer: world.issuer.url, scope: '' } },
      context: { agent: 'agent' },
      evaluations: ['one', 'two', 'three'].map((id) => ({
        action: { name: 'tools/call' },
        resource: { type: 'tool', id },
      })),
    },
  ]);
});

const inPieces: RequestHandler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const bytes = `: first\n\ndata: ${listed(tools)}\n\n: last\n\n`;
  response.write(bytes.slice(0, 40));
  setImmediate(() => response.end(bytes.slice(40)));
};

test('R-346: what follows a list on a stream waits for its decision, also if the server is gone by then', async () => {
  const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"after"}}';
  const released = Promise.withResolvers<void>();
  decide((incoming, response) => {
    void released.promise.then(() => json(200, '{"evaluations":[{"decision":true}]}')(incoming, response, ''));
  });
  // The end of the connection is the end of the body.
  world.handle = (_request, { socket }) => {
    socket?.once('close', () => released.resolve());
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
    socket?.write(`${head}data: ${listed(tools)}\n\n`);
    setImmediate(() => socket?.end(`data: ${note}\n\n`));
  };
  const text = await (await list()).text();
  expect(names(text)).toEqual(['one']);
  expect(text.indexOf('"one"')).toBeLessThan(text.indexOf('"after"'));
});

test('R-346: each list of a stream is asked about anew', async () => {
  const third = { tools: [{ name: 'three' }] };
  world.handle = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${listed(tools)}\n\n`);
    setImmediate(() => response.end(`data: ${listed(third)}\n\n`));
  };
  let asked = 0;
  decide((incoming, response, body) => {
    asked += 1;
    const decision = asked === 1;
    const { evaluations = [] } = JSON.parse(body) as ListBody;
    json(200, { evaluations: evaluations.map(() => ({ decision })) })(incoming, response, body);
  });
  expect(names(await (await list()).text())).toEqual(['one', 'two', 'three']);
  expect(asked).toBe(2);
});

test('R-346: prompts, resources and templates are asked about by the method that uses them', async () => {
  answers(() => ({ decision: true }));
  world.handle = json(
    200,
    listed({
      resources: [{ uri: 'file:///a' }],
      resourceTemplates: [{ uriTemplate: 'file:///{name}' }],
      prompts: [{ name: 'greet' }],
    }),
  );
  await (await list('prompts/list')).text();
  expect(listQuestions()).toMatchObject([
    {
      evaluations: [
        { action: { name: 'resources/read' }, resource: { type: 'resource', id: 'file:///a' } },
        { action: { name: 'resources/read' }, resource: { type: 'resource', id: 'file:///{name}' } },
        { action: { name: 'prompts/get' }, resource: { type: 'prompt', id: 'greet' } },
      ],
    },
  ]);
});

test('R-346: nothing is asked about a list that the policy empties', async () => {
  world.handle = json(200, listed({ tools: [{ name: 'theirs' }, { name: 'unlisted' }] }));
  expect(names(await (await list()).text())).toEqual([]);
  expect(listQuestions()).toEqual([]);
});

test.for<readonly [string, (name: string) => object | undefined]>([
  ['no answer', (name) => (name === 'one' ? { decision: true } : undefined)],
  ['an error', (name) => ({ decision: true, ...(name !== 'one' && { context: { error: { status: 500 } } }) })],
  ['obligations', (name) => ({ decision: true, ...(name !== 'one' && { context: { obligations: [{}] } }) })],
  ['a decision that is a text', (name) => ({ decision: name === 'one' || 'true' })],
  ['a decision in another case', (name) => ({ decision: true, ...(name !== 'one' && { Decision: false }) })],
  ['no decision', (name) => (name === 'one' ? { decision: true } : {})],
])('R-346: an entry with %s is hidden', async ([, by]) => {
  world.handle = json(200, listed(tools));
  answers(by);
  expect(names(await (await list()).text())).toEqual(['one']);
});

describe('without an answer about a list', () => {
  const impatient = startBeforeAll(() => startFor(pdp, '1500ms'));
  test.for<readonly [string, RequestHandler]>([
    ['a 404', json(404, '{}')],
    ['no evaluations', json(200, '{"decision":true}')],
    ['two lists', json(200, '{"evaluations":[{"decision":true}],"Evaluations":[]}')],
    ['too many answers', json(200, { evaluations: Array.from({ length: 4 }, () => ({ decision: true })) })],
    ['silence', () => {}],
  ])('R-346: %s is a 503', async ([, handle]) => {
    impatient.handle = json(200, listed(tools));
    decide(handle);
    expect((await list('tools/list', impatient)).status).toBe(503);
    await impatient.gateway.line({ msg: 'request failed', reason: 'decision_point.unavailable' });
  });

  test('R-346: an event stream that has begun ends with an error in place of the list', async () => {
    world.handle = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': first\n\n');
      setImmediate(() => response.end(`data: ${listed(tools)}\n\n`));
    };
    decide(json(500, '{}'));
    const answer = await (await list()).text();
    expect(answer).toMatch(/^: first\n\nevent: message\ndata: .*"decision_point\.unavailable".*\n\n$/);
  });
});

test('R-346: metadata without an endpoint for lists refuse them before the server is asked, and no calls', async () => {
  const other = await forThisTest(startPdp());
  other.metadata = metadataOf(other, { policy_decision_point: other.server.url });
  const own = await forThisTest(startFor(other, '5s'));
  expect((await own.send(request('tools/list'), { claims })).status).toBe(503);
  expect(own.upstream.seen).toEqual([]);
  expect((await own.send(request('tools/call', { name: 'one' }), { claims })).status).toBe(200);
});

test('R-337: metadata are read at start, and the log says why they are not used', async () => {
  const other = await forThisTest(startPdp());
  other.metadata = json(200, { policy_decision_point: 'https://elsewhere.example' });
  const own = await forThisTest(startFor(other, '5s'));
  expect(await own.gateway.line({ msg: 'decision point unavailable' })).toMatchObject({
    level: 'warn',
    decision_point: 'acme',
    detail: 'the metadata have another policy_decision_point than url',
  });
  expect(other.questions()).toEqual([]);
});
