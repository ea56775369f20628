import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { traefik } from '../forward-auth/ask.ts';
import { startMcpWorld, type McpWorld } from '../worlds/mcp.ts';

const policy = `
tools:
  approve: {}
  disburse:
    after: { tool: approve, within: 1h, same: [/claim] }
  pay:
    quota: [{ sum: /amount, at_most: 5000, per: 1h }]
  count:
    quota: [{ sum: /n, at_most: 5, per: 1h, integer: true }]
  "read_*": {}
  mail:
    never_after: { tool: read_secret, within: 1d }
  spy: {}
  tell:
    never_after: { tool: spy, within: 1d, same: [/account] }
`;

let world: McpWorld;
let callers = 0;
let subject: string;
beforeAll(async () => {
  const top = 'forward_auth: { listen: 127.0.0.1:0, trusted: [127.0.0.1] }';
  world = await startMcpWorld({ policy, top });
});
afterAll(() => world.close());
beforeEach(() => {
  callers += 1;
  subject = `mallory-${callers}`;
  answer('{"jsonrpc":"2.0","id":1,"result":{}}');
});

function answer(text: string): void {
  world.handle = (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

/** The status of a call whose `params` the attacker writes. */
async function attack(params: string, { claims = {}, headers = {}, id = '"id":1,' } = {}): Promise<number> {
  const token = await world.token({ sub: subject, ...claims });
  const response = await fetch(`${world.gateway.url}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: `{"jsonrpc":"2.0",${id}"method":"tools/call","params":${params}}`,
  });
  await response.text();
  return response.status;
}

const pay = (amount: string): string => `{"name":"pay","arguments":{"amount":${amount}}}`;

describe('an amount that lowers or hides a sum is refused', () => {
  test.each([
    ['a negative amount', pay('-5000'), 403],
    ['a text', pay('"1"'), 403],
    ['a list', pay('[1]'), 403],
    ['an object', pay('{"value":1}'), 403],
    ['true', pay('true'), 403],
    ['null', pay('null'), 403],
    ['a number beyond all doubles', pay('1e999'), 403],
    ['one above the whole quota', pay('5000.000001'), 403],
    ['none', '{"name":"pay","arguments":{}}', 403],
    ['no arguments', '{"name":"pay"}', 403],
    ['the amount twice', '{"name":"pay","arguments":{"amount":1,"amount":5000}}', 400],
    ['the amount in another case', '{"name":"pay","arguments":{"Amount":5000}}', 403],
    ['the amount in two cases', '{"name":"pay","arguments":{"amount":1,"AMOUNT":5000}}', 400],
    ['the amount in a text', '{"name":"pay","arguments":"{\\"amount\\":1}"}', 400],
    ['the name twice', '{"name":"read_x","name":"pay","arguments":{"amount":5000}}', 400],
    ['another spelling of the tool', '{"name":"Pay","arguments":{"amount":5000}}', 403],
    ['a negative integer', '{"name":"count","arguments":{"n":"-1"}}', 403],
    ['an integer in another notation', '{"name":"count","arguments":{"n":"1e0"}}', 403],
    ['a fraction of an integer', '{"name":"count","arguments":{"n":0.5}}', 403],
  ])('%s', async (_, params, status) => {
    const before = world.upstream.seen.length;
    expect(await attack(params)).toBe(status);
    expect(world.upstream.seen.length).toBe(before);
  });

  test('many amounts too small for a unit', async () => {
    for (let i = 0; i < 5; i += 1) expect(await attack(pay('1e-300'))).toBe(200);
    expect(await attack(pay('4999.999996'))).toBe(429);
    expect(await attack(pay('4999.999995'))).toBe(200);
  });
});

describe('one caller has one budget', () => {
  test.each<[string, (i: number) => Parameters<typeof attack>[1]]>([
    ['tokens', (i) => ({ claims: { jti: String(i) } })],
    ['clients', (i) => ({ claims: { client_id: `client-${i}` } })],
    ['scopes', (i) => ({ claims: { scope: `scope-${i}` } })],
    [
      'revisions of the protocol',
      (i) => ({ headers: { 'mcp-protocol-version': ['2025-06-18', '2025-11-25'][i % 2] ?? '' } }),
    ],
    ['ids', (i) => ({ id: `"id":"${i}",` })],
    ['notifications, which get no answer', () => ({ id: '' })],
  ])('over its %s', async (_, variant) => {
    expect(await attack(pay('2500'), variant(1))).toBe(200);
    expect(await attack(pay('2500'), variant(2))).toBe(200);
    expect(await attack(pay('1'), variant(3))).toBe(429);
  });

  test('in a race', async () => {
    const statuses = await Promise.all(Array.from({ length: 20 }, () => attack(pay('1000'))));
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });

  test('after it drops every answer', async () => {
    for (let i = 0; i < 2; i += 1) {
      const leaves = new AbortController();
      world.handle = () => leaves.abort();
      const message = {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'pay', arguments: { amount: 2500 } },
      };
      await expect(world.send(message, { claims: { sub: subject }, signal: leaves.signal })).rejects.toThrow('abort');
    }
    answer('{"jsonrpc":"2.0","id":1,"result":{}}');
    expect(await attack(pay('1'))).toBe(429);
  });

  test('if a proxy asks, which sees the answers in place of the gateway', async () => {
    const ask = async (params: string): Promise<number> => {
      const authorization = `Authorization: Bearer ${await world.token({ sub: subject })}`;
      const lines = [authorization, 'Content-Type: application/json', 'Accept: application/json'];
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
      const { status } = await traefik(world.gateway.forwardAuthUrl, { method: 'POST', target: '/mcp', lines, body });
      return status;
    };
    expect([await ask(pay('5000')), await ask(pay('1'))]).toEqual([200, 429]);
    expect(await ask('{"name":"approve","arguments":{"claim":7}}')).toBe(200);
    expect(await ask('{"name":"disburse","arguments":{"claim":7}}')).toBe(403);
    expect(await ask('{"name":"read_secret"}')).toBe(200);
    expect(await ask('{"name":"mail"}')).toBe(403);
  });
});

describe('a call that must not come first cannot be hidden', () => {
  test.each(['read_secret', 'read_SECRET', 'read_secret ', 'read_ſecret', 'read_secret.'])('as %j', async (name) => {
    expect(await attack(JSON.stringify({ name }))).toBe(200);
    expect(await attack('{"name":"mail"}')).toBe(403);
  });

  test.each([
    ['9007199254740993', '9007199254740993.0'],
    ['9007199254740993', '9.007199254740993e15'],
    ['90071992547409930e-1', '9007199254740993'],
    ['1e400', '10E+399'],
    ['7', '70e-1'],
    ['"A"', String.raw`"\u0041"`],
  ])('by %s in place of %s, the same value in another notation', async (other, account) => {
    expect(await attack(`{"name":"spy","arguments":{"account":${other}}}`)).toBe(200);
    expect(await attack(`{"name":"tell","arguments":{"account":${account}}}`)).toBe(403);
    expect(await attack('{"name":"tell","arguments":{"account":9007199254740995}}')).toBe(200);
  });

  test.each([
    ['another JSON type', '{"account":"7"}'],
    ['a list', '{"account":[7]}'],
    ['an object', '{"account":{"id":7}}'],
    ['null', '{"account":null}'],
    ['the name in another case', '{"Account":7}'],
    ['no argument', '{}'],
  ])('by %s', async (_, args) => {
    expect(await attack(`{"name":"spy","arguments":${args}}`)).toBe(200);
    expect(await attack('{"name":"tell","arguments":{"account":7}}')).toBe(403);
  });

  test('as a notification', async () => {
    expect(await attack('{"name":"read_secret"}', { id: '' })).toBe(200);
    expect(await attack('{"name":"mail"}')).toBe(403);
  });
});

describe('an approval is good only for what it names', () => {
  const approve = (claim: string): string => `{"name":"approve","arguments":${claim}}`;
  const disburse = (claim: string): string => `{"name":"disburse","arguments":${claim}}`;

  test.each([
    ['another argument', '{"claim":7}', '{"claim":8}', 403],
    ['another type', '{"claim":7}', '{"claim":"7"}', 403],
    ['no argument on both sides', '{}', '{}', 403],
    ['null on both sides', '{"claim":null}', '{"claim":null}', 403],
    ['two numbers that round to one', '{"claim":9007199254740992}', '{"claim":9007199254740993}', 403],
    ['the argument in another case', '{"claim":7}', '{"Claim":7}', 403],
    ['the same argument', '{"claim":7,"note":"a"}', '{"note":"b","claim":7.0}', 200],
  ])('%s', async (_, approved, disbursed, status) => {
    await attack(approve(approved));
    expect(await attack(disburse(disbursed))).toBe(status);
  });

  test('an approval of another caller, or one that was not answered, is none', async () => {
    await attack(approve('{"claim":7}'), { claims: { sub: 'boss' } });
    expect(await attack(disburse('{"claim":7}'))).toBe(403);
    await attack(approve('{"claim":7}'), { id: '' });
    expect(await attack(disburse('{"claim":7}'))).toBe(403);
  });

  test('an approval by another spelling of the tool is none', async () => {
    expect(await attack('{"name":"Approve","arguments":{"claim":7}}')).toBe(403);
    expect(await attack(disburse('{"claim":7}'))).toBe(403);
  });
});
