import { afterAll, beforeAll, expect, test } from 'vitest';
import { callOf, post } from './requests.ts';
import { type AttackWorld, startAttackWorld } from '../worlds/attacks.ts';

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld();
});
afterAll(() => world.close());

const [allowed, denied] = [callOf('get_price'), callOf('delete_everything')];
const notification = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

test.each([
  ['empty', '[]'],
  ['of one that is allowed', `[${allowed}]`],
  ['of one that is denied', `[${denied}]`],
  ['that hides a call behind another', `[${allowed},${denied}]`],
  ['that hides a call behind a notification', `[${notification},${denied}]`],
  ['of answers', '[{"jsonrpc":"2.0","id":1,"result":{}}]'],
  ['in a batch', `[[${allowed}]]`],
  ['of no messages', '[1, null, "x"]'],
  ['of a thousand', `[${Array.from({ length: 1000 }, () => allowed).join()}]`],
  ['with space before it', ` \r\n\t[${allowed}]`],
])('R-100: refuses a batch %s as a whole', async (_what, body) => {
  for (const version of ['2025-03-26', '2025-11-25']) {
    const { answers } = await world.withstand(post(world.authorization, body, `MCP-Protocol-Version: ${version}`), {
      statuses: [400],
      reasons: ['body.message'],
    });
    expect(answers[0]).toContain('"id":null');
  }
});

test.each(['true', 'null', '1', `"${'x'.repeat(10)}"`, JSON.stringify(denied)])(
  'refuses a body that is not a message: %s',
  async (body) => {
    await world.withstand(post(world.authorization, body), { statuses: [400], reasons: ['body.message'] });
  },
);

test.each([
  ['a request and its answer in one', `${denied.slice(0, -1)},"result":{}}`],
  ['a request and an error in one', `${denied.slice(0, -1)},"error":{}}`],
  ['a method that is a list', '{"jsonrpc":"2.0","id":1,"method":["tools/call"]}'],
  ['params that are a list', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["get_price"]}'],
  ['a name that is a list', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["get_price"]}}'],
  ['an id that is a batch', `{"jsonrpc":"2.0","id":[${denied}],"method":"ping"}`],
  ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}'],
])('refuses a malformed message: %s', async (_what, body) => {
  await world.withstand(post(world.authorization, body), { statuses: [400], reasons: ['body.message'] });
});
