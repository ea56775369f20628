import { expect, test } from 'vitest';
import type { Reason } from '../../src/model/reasons.ts';
import { callOf, post } from './requests.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

// test/mcp/message.test.ts and test/lib/json/scanner.test.ts have the tables of texts.

const world = startBeforeAll(() =>
  startAttackWorld({
    policies: {
      tools: 'scope: read\ntools:\n  get_price: { arguments: { /amount: { at_most: 1 } } }\n  "*_read": {}\n',
    },
  }),
);

const good = callOf('get_price', { amount: 1 });

test.each<[what: string, body: string | Buffer, Reason]>([
  ['a name twice', good.replace('"name"', '"name":"pay","name"'), 'body.ambiguous'],
  ['an argument in capitals', good.replace('"amount"', '"AMOUNT":1000,"amount"'), 'body.ambiguous'],
  ['a name with a NUL, which C would cut short', callOf('NAME').replace('NAME', 'pay\\u0000_read'), 'body.ambiguous'],
  ['a comment', `/* */${good}`, 'body.malformed'],
  ['UTF-16', Buffer.from(good, 'utf16le'), 'body.malformed'],
  ['half a character', Buffer.concat([Buffer.from(good.slice(0, -1)), Buffer.from([0xe2, 0x82])]), 'body.malformed'],
])('refuses %s', async (_what, body, reason) => {
  const { answers } = await world.withstand(post(world.authorization, body), { statuses: [400], reasons: [reason] });
  expect(answers[0]).toMatch(/"code":-32(?:700|600)/);
});

test('decides on an escaped key, and forwards it unchanged', async () => {
  const body = good.replace('"name"', '"n\\u0061me"').replace('"method"', '"\\u006Dethod"');
  const { reached } = await world.withstand(post(world.authorization, body), {
    statuses: [200],
    reached: ['POST /mcp'],
    reasons: ['allow'],
  });
  expect(reached[0]?.body).toBe(body);
});
