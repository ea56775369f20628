import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bodyOf, post } from './requests.ts';
import { type AttackWorld, startAttackWorld } from '../worlds/attacks.ts';

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld({
    policies: {
      tools:
        'scope: read\ntools:\n  get_price: {}\n  pay: { arguments: { /amount: { at_most: 1000 } } }\n  take: { arguments: { /amount: { integer: true, at_least: 0 } } }\n',
    },
  });
});
afterAll(() => world.close());

const numbers = [
  '0',
  '-0',
  '1',
  '9007199254740992',
  '9007199254740993',
  '-9223372036854775808',
  '18446744073709551616',
  '123456789012345678901234567890',
  '1e400',
  '-1e400',
  '1e-400',
  '1E2',
  '1.0',
  '0.1000000000000000055511151231257827',
  `1${'0'.repeat(400)}`,
  `0.${'0'.repeat(400)}1`,
];

const call = (name: string, amount: string, id: string): string =>
  `{ "jsonrpc" : "2.0",\n"id":${id}, "method":"tools/call","params":{"name":"${name}","arguments":{"amount":${amount}}}}\n`;

test.each(numbers)('forwards %s as id and argument byte for byte', async (number) => {
  const body = call('get_price', number, number);
  const { reached, wire } = await world.withstand(post(world.authorization, body), {
    statuses: [200],
    reached: ['POST /mcp'],
    reasons: ['allow'],
  });
  expect(reached[0]?.body).toBe(body);
  expect(wire.join('')).toContain(body);
});

describe('a refusal has the exact id of the request', () => {
  test.each(numbers)('%s', async (number) => {
    const { answers } = await world.withstand(post(world.authorization, call('unlisted', '1', number)), {
      statuses: [403],
      reasons: ['tool.unlisted'],
    });
    // -0 and 1.0 are 0 and 1 to every reader.
    const same = Number.isSafeInteger(Number(number)) ? String(Number(number)) : number;
    expect(answers[0]).toContain(`"id":${same},`);
    expect(bodyOf(answers[0])).toBeDefined();
  });
});

describe('a limit applies to the number as the upstream reads it', () => {
  test.each([
    '1000.0000000000001',
    '1001',
    '1e4',
    '1e400',
    '9007199254740993',
    '"1"',
    '"0x1"',
    '[1]',
    'null',
    'true',
    '""',
  ])('refuses the amount %s, which is over 1000 or not a number', async (amount) => {
    await world.withstand(post(world.authorization, call('pay', amount, '1')), {
      statuses: [403],
      reasons: ['argument.denied|policy.error'],
    });
  });

  test.each(['1000', '1e3', '1000.0', '-5', '0.5', '1e-400'])('allows the amount %s', async (amount) => {
    await world.withstand(post(world.authorization, call('pay', amount, '1')), {
      statuses: [200],
      reached: ['POST /mcp'],
    });
  });

  test.each([
    '1.5',
    '1e400',
    '"1.5"',
    '"0x10"',
    '"1e3"',
    '" 1"',
    '"1 "',
    '"１"',
    '"+1"',
    '"١"',
    '"1_000"',
    '"Infinity"',
    '[]',
    '{}',
    'true',
  ])('does not read the amount %s as an integer', async (amount) => {
    await world.withstand(post(world.authorization, call('take', amount, '1')), {
      statuses: [403],
      reasons: ['argument.denied|policy.error'],
    });
  });
});
