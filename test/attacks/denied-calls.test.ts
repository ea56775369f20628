import { describe, expect, test } from 'vitest';
import type { Reason } from '../../src/core/model/reasons.ts';
import { lastHead } from '../support/raw.ts';
import { AUDIENCE, startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { bodyOf, callOf, fieldOf, get, post } from './requests.ts';
import { startBeforeAll } from '../support/start-before.ts';

// Each class has its table of inputs at the unit that decides. Here stands one request of each through a whole gateway.

/** Patterns that look as if some texts made a backtracking engine go back for long. */
const [mail, host] = ['^[\\\\w.-]+@[\\\\w.-]+$', '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\\\.)+[a-z]{2,}$'];

const world = startBeforeAll(() =>
  startAttackWorld({
    yaml: 'limits: { failures: off }',
    routes: [
      `name: risk, path: /risk, audience: "${AUDIENCE}", policy: risk, upstream: { url: "UPSTREAM" }`,
      `name: inner, path: /api/admin, audience: "${AUDIENCE}", policy: admin, upstream: { url: "UPSTREAM" }`,
    ],
    policies: {
      risk: `claims: { risk: { below: 50 }, text: { not: { matches: "${mail}" } } }\n`,
      tools: `scope: read
tools:
  "get_*": {}
  get_secret: { scope: admin }
  hide: { claims: { role: trader } }
  step: { scope: more }
  pay: { arguments: { /amount: { not: { above: 1000 } } } }
  file: { arguments: { /path: { within: [/data, { claim: sub }] } } }
  mail: { arguments: { /text: { matches: "${mail}" } } }
  host: { arguments: { /text: { matches: "${host}" } } }
`,
    },
    answer: (_request, response, body) => {
      const { method, params } = JSON.parse(body || '{}') as { method?: string; params?: { cursor?: string } };
      response.writeHead(200, { 'content-type': 'application/json' });
      if (params?.cursor === 'broken') return void response.end(`${UPSTREAM_TEXT} {"tools": [`);
      const names = ['get_price', 'get_SECRET', 'get_secret', 'hide', 'step', 'delete_everything'];
      const result = method === 'tools/list' ? { tools: names.map((name) => ({ name })) } : {};
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result, title: UPSTREAM_TEXT }));
    },
  }),
);

const message = (method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const call = (name: string, args = {}, ...lines: readonly string[]): Buffer =>
  post(world.authorization, callOf(name, args), ...lines);
const withHost = (name: string): Buffer => Buffer.from(lastHead('GET /public').replace('gateway.test', name), 'utf8');
const halfCharacter = Buffer.from([0xe2, 0x82]);
const unanswered = '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_everything"}}';
const good = callOf('get_price', { amount: 1 });
const body = (text: string | Buffer) => (): Buffer => post(world.authorization, text);
const send = (method: string): Buffer => post(world.authorization, message(method, { uri: 'file:///x', name: 'x' }));

test.each<[what: string, attack: () => string | Buffer, status: number, reason: Reason]>([
  ['R-89: a resource that a policy of tools does not list', () => send('resources/read'), 403, 'resource.unlisted'],
  ['R-89: a tool that is not listed', () => call('delete_everything'), 403, 'tool.unlisted'],
  ['a call without an id', () => post(world.authorization, unanswered), 403, 'tool.unlisted'],
  ['a path that leaves its folder', () => call('file', { path: '/data/alice/../bob' }), 403, 'argument.denied'],
  ['a path in the folder of another', () => call('file', { path: '/data/bob/x' }), 403, 'argument.denied'],
  ['R-92: an argument of another type', () => call('pay', { amount: '1' }), 403, 'argument.denied'],
  ['a name that reads as another entry', () => call('get_SECRET'), 403, 'tool.unlisted'],
  ['another spelling of a method', () => send('Tools/Call'), 400, 'body.ambiguous'],
  ['a name twice', body(good.replace('"name"', '"name":"pay","name"')), 400, 'body.ambiguous'],
  ['UTF-16', body(Buffer.from(good, 'utf16le')), 400, 'body.malformed'],
  ['half a character', body(Buffer.concat([Buffer.from(good.slice(0, -1)), halfCharacter])), 400, 'body.malformed'],
  ['R-100: a batch', () => post(world.authorization, `[${callOf('get_price')}]`), 400, 'body.message'],
  ['R-101: another type', () => call('get_price', {}, 'Content-Type: text/plain'), 415, 'body.type'],
  ['R-101: an encoding', () => call('get_price', {}, 'Content-Encoding: gzip'), 415, 'body.encoding'],
  ['a GET with a message', () => call('get_price').toString().replace('POST', 'GET'), 400, 'request.framing'],
  [
    'a text at which a pattern may go back',
    () => call('host', { text: `${'a-'.repeat(2047)}!` }),
    403,
    'argument.denied',
  ],
  ['a text that is too long to match', () => call('mail', { text: 'a'.repeat(4097) }), 403, 'policy.error'],
  ['another case of a path', () => lastHead('GET /Admin', world.authorization), 400, 'request.path'],
  ['a wide letter in a path', () => lastHead('GET /%EF%BC%A1DMIN', world.authorization), 400, 'request.path'],
  ['another case of a method, RFC 9110 §9.1', () => lastHead('Get /public'), 400, 'request.malformed'],
  ['a host that folds to the name', () => withHost('gateway.te\u017ft'), 403, 'request.host'],
  ['a path that climbs', () => lastHead('GET /public/../admin'), 400, 'request.path'],
  ['a path that reads as a stricter route', () => lastHead('GET /api/admin.json'), 400, 'request.path'],
  [
    'a query that names another path',
    () => lastHead('GET /admin?/public', world.authorization),
    403,
    'scope.insufficient',
  ],
])('refuses %s', async (_what, attack, status, reason) => {
  await world.refuses(attack(), status, reason);
});

test.each<[what: string, attack: () => string | Buffer, reached: string]>([
  ['a notification that no revision knows', () => send('notifications/x-vendor'), 'POST /mcp'],
  ['an argument below the limit', () => call('pay', { amount: 1000 }), 'POST /mcp'],
  [
    'a type with its charset',
    () => call('get_price', {}, 'Content-Type: application/json;charset="UTF-8"'),
    'POST /mcp',
  ],
  ['the host in another case, with its port', () => withHost('Gateway.Test:80'), 'GET /public'],
  ['a query, unchanged', () => lastHead('GET /public/x?..%2f..%2fadmin'), 'GET /public/x?..%2f..%2fadmin'],
])('forwards %s', async (_what, attack, reached) => {
  await world.forwards(attack(), reached);
});

/** Written so that a forwarder that writes the message anew is seen. */
const written = (name: string, amount: string, id: string): string =>
  `{ "jsonrpc" : "2.0",\n"id":${id}, "m\\u0065thod":"tools/call","params":{"name":"${name}","arguments":{"amount":${amount}}}}\n`;

// test/core/policy/predicate.test.ts has limits of amounts, test/core/lib/json the tables of numbers and keys.
test.each(['-0', '9007199254740993', '1e400', '1.0', `1${'0'.repeat(400)}`])(
  'forwards %s as id and argument byte for byte, and refuses with the exact id',
  async (number) => {
    const sent = written('get_price', number, number);
    const { reached, wire } = await world.forwards(post(world.authorization, sent), 'POST /mcp');
    expect(reached[0]?.body).toBe(sent);
    expect(wire.join('')).toContain(sent);
    const { answers } = await world.refuses(
      post(world.authorization, written('unlisted', '1', number)),
      403,
      'tool.unlisted',
    );
    // -0 and 1.0 are 0 and 1 to every reader.
    const same = Number.isSafeInteger(Number(number)) ? String(Number(number)) : number;
    expect(answers[0]).toContain(`"id":${same},`);
  },
);

test('refuses a claim of another type', async () => {
  await world.forwards(get('/risk', await world.token({ risk: 12 })), 'GET /');
  const slow = { risk: 12, text: `${'a.'.repeat(2047)}@a` };
  for (const claims of [{ risk: '12' }, { risk: undefined }, { risk: [12] }, slow]) {
    await world.refuses(get('/risk', await world.token(claims)), 403, 'claim.denied');
  }
});

test.each<[what: string, claims: Record<string, unknown>, Reason]>([
  ['for another audience', { aud: `${AUDIENCE}/` }, 'token.audience'],
  ['without a subject’s name', { sub: '' }, 'token.claims'],
  ['of Keycloak for refreshing', { typ: 'Refresh' }, 'token.type'],
])('refuses a token %s, also from the cache', async (_what, claims, reason) => {
  const token = await world.token(claims);
  for (const _ of ['first', 'again']) {
    await world.refuses(get('/api', token), 401, reason);
  }
});

describe('a hidden tool is refused when it is called', () => {
  test('R-93: the list shows only tools that this caller may call', async () => {
    const { answers } = await world.forwards(post(world.authorization, message('tools/list')), 'POST /mcp');
    const { result } = bodyOf(answers[0]) as { result: { tools: readonly { name: string }[] } };
    expect(result.tools.map(({ name }) => name)).toEqual(['get_price', 'get_secret', 'step']);
    const { answers: refusals } = await world.refuses(call('hide'), 403, 'claim.denied');
    expect(fieldOf(refusals[0], 'WWW-Authenticate'), 'no scope would mend it').toBeUndefined();
  });

  test('R-94: an unreadable list is neither shown nor quoted in the log', async () => {
    await world.withstand(post(world.authorization, message('tools/list', { cursor: 'broken' })), {
      statuses: [502],
      reached: ['POST /mcp'],
      reasons: ['allow'],
    });
    await world.gateway.line({ msg: 'request failed', reason: 'upstream.invalid' });
  });

  test('names the missing scope, and nothing else that exists', async () => {
    const { answers } = await world.refuses(call('step'), 403, 'scope.insufficient');
    expect(fieldOf(answers[0], 'WWW-Authenticate')).toContain('scope="read more"');
  });
});
