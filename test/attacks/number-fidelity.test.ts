import { expect, test } from 'vitest';
import { bodyOf, post } from './requests.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(startAttackWorld);

// test/policy/predicate.test.ts has limits of amounts, test/lib/json the tables of numbers.
const numbers = ['-0', '9007199254740993', '1e400', '1.0', `1${'0'.repeat(400)}`];

const call = (name: string, amount: string, id: string): string =>
  `{ "jsonrpc" : "2.0",\n"id":${id}, "method":"tools/call","params":{"name":"${name}","arguments":{"amount":${amount}}}}\n`;

test.each(numbers)('forwards %s as id and argument byte for byte, and refuses with the exact id', async (number) => {
  const body = call('get_price', number, number);
  const { reached, wire } = await world.withstand(post(world.authorization, body), {
    statuses: [200],
    reached: ['POST /mcp'],
    reasons: ['allow'],
  });
  expect(reached[0]?.body).toBe(body);
  expect(wire.join('')).toContain(body);
  const { answers } = await world.withstand(post(world.authorization, call('unlisted', '1', number)), {
    statuses: [403],
    reasons: ['tool.unlisted'],
  });
  // -0 and 1.0 are 0 and 1 to every reader.
  const same = Number.isSafeInteger(Number(number)) ? String(Number(number)) : number;
  expect(answers[0]).toContain(`"id":${same},`);
  expect(bodyOf(answers[0])).toBeDefined();
});
