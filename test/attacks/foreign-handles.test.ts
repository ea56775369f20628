import { expect, test } from 'vitest';
import { fieldOf, modernPost, post } from './requests.ts';
import { startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { lastHead } from '../support/raw.ts';
import { postMessage } from '../support/mcp-message.ts';
import { startBeforeAll } from '../support/start-before.ts';

// Sessions, tasks and states. test/mcp/bindings.test.ts and test/mcp/handles-binding.test.ts have the tables.

const tasksOfAll = [
  { taskId: 'task-of-alice', status: 'working', statusMessage: 'pays the doctor' },
  { taskId: 'task-of-bob', status: 'completed' },
];
const related = 'io.modelcontextprotocol/related-task';
/** What the upstream calls the one session that it ever begins. */
const theirs = 'upstream-session-1';

/** What the upstream answers from now on. */
let result: object = {};
let answeredAsEvents = false;

const world = startBeforeAll(() =>
  startAttackWorld({
    routes: ['open', 'exact', 'any', 'other'].map(
      (name) =>
        `name: ${name}, path: /${name}, protocol: mcp, audience: "http://gateway.test/mcp", policy: ${name}, upstream: { url: "UPSTREAM/mcp" }`,
    ),
    policies: { open: '{}', exact: 'methods: { tasks/list: {} }', any: 'methods: { "*": {} }', other: '{}' },
    answer: (_request, response) => {
      const message = JSON.stringify({ jsonrpc: '2.0', id: 1, result, text: UPSTREAM_TEXT });
      const type = answeredAsEvents ? 'text/event-stream' : 'application/json';
      response.writeHead(200, { 'content-type': type, 'mcp-session-id': theirs });
      response.end(answeredAsEvents ? `data: ${message}\n\n` : message);
    },
  }),
);

const authorizationOf = async (claims: Record<string, unknown>): Promise<string> =>
  `Authorization: Bearer ${await world.token(claims)}`;
const by = (sub: string): Promise<string> => authorizationOf({ sub });
const request = (method: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const ping = request('ping', {});

/** The same request on another route. */
function on(path: string, sent: Buffer): Buffer {
  return Buffer.from(sent.toString('latin1').replace('POST /mcp', `POST ${path}`), 'latin1');
}

/** The result that a client sees of a message that passes. */
async function passed(sub: string, path: string, method: string, params: object): Promise<Record<string, unknown>> {
  const response = await postMessage(world.url + path, { method, params, token: await world.token({ sub }) });
  expect(response.status).toBe(200);
  const text = (await response.text()).replace(/^data: /, '');
  return (JSON.parse(text) as { result: Record<string, unknown> }).result;
}

async function sessionOf(claims: Record<string, unknown>): Promise<string> {
  const initialize = request('initialize', { protocolVersion: '2025-11-25' });
  const sent = post(await authorizationOf(claims), initialize);
  const { answers } = await world.forwards(sent, 'POST /mcp');
  return fieldOf(answers[0], 'mcp-session-id') ?? '';
}

test.each<[string, (authorization: string, session: string) => string | Buffer]>([
  ['a message', (authorization, session) => post(authorization, ping, `Mcp-Session-Id: ${session}`)],
  ['its stream', (authorization, session) => lastHead('GET /mcp', authorization, `Mcp-Session-Id: ${session}`)],
  ['its end', (authorization, session) => lastHead('DELETE /mcp', authorization, `Mcp-Session-Id: ${session}`)],
])('%s of a session answers 404 to another person, and 400 to two ids', async (_what, use) => {
  const session = await sessionOf({ sub: 'alice' });
  const bob = await by('bob');
  for (const shown of [session, theirs]) {
    await world.refuses(use(bob, shown), 404, 'session.unknown');
  }
  const both = `${await sessionOf({ sub: 'bob' })}\r\nMcp-Session-Id: ${session}`;
  await world.refuses(use(bob, both), 400, 'request.duplicate_header');
});

test('a method about tasks returns only the tasks of the request', async () => {
  result = { task: { taskId: 'task-of-bob' } };
  const { task: own } = (await passed('bob', '/any', 'vendor/run', { task: {} })) as { task: { taskId: string } };
  for (const method of ['tasks/get', 'tasks/recent']) {
    result = {
      taskId: 'task-of-alice',
      task: { taskId: 'task-of-alice' },
      _meta: { [related]: { taskId: 'task-of-bob' } },
    };
    expect(await passed('bob', '/any', method, { taskId: own.taskId })).toEqual({
      ...result,
      _meta: { [related]: own },
    });
  }
  result = { tasks: tasksOfAll, taskId: 'task-of-alice' };
  expect(await passed('bob', '/any', 'tasks/recent', {})).toEqual({ tasks: [], taskId: 'task-of-alice' });
});

test('R-112: requestState goes back to the upstream unchanged, and with no other tool', async () => {
  const call = async (name: string, params: object = {}): Promise<Buffer> =>
    on('/open', modernPost(await by('alice'), 'tools/call', { name, ...params }));
  result = { resultType: 'input_required', requestState: 'confirmed' };
  const { answers } = await world.forwards(await call('get_price'), 'POST /mcp');
  const [, requestState] = /"requestState":"([^"]+)"/.exec(answers[0] ?? '') ?? [];
  await world.refuses(await call('pay', { requestState }), 404, 'handle.unknown');
  const again = await call('get_price', { requestState });
  const { reached } = await world.forwards(again, 'POST /mcp');
  expect(reached[0]?.body).toContain('"requestState":"confirmed"');
});
