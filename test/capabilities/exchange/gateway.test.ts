import { expect, test } from 'vitest';
import { startBeforeAll } from '../../support/start-before.ts';
import { granted, startExchangeWorld } from '../../worlds/exchange.ts';
import { toolCall } from '../../worlds/wire.ts';

const world = startBeforeAll(() => startExchangeWorld((_request, response) => void response.writeHead(401).end()));

// credential-source.test.ts has the cool-down, test/spec/rfc8693.test.ts the exchange itself.
test.each([
  ['http', '/', 401],
  ['mcp', '/mcp', 502],
])('an %s upstream that answers 401: the next call gets a new credential', async (_, path, status) => {
  const token = await world.freshToken({ scope: 'read' });
  let made = 0;
  const call = async (): Promise<string | undefined> => {
    made += 1;
    world.answer = { status: 200, body: { ...granted, access_token: `made-${made}` } };
    expect((await world.post(path, token, toolCall('look'))).status).toBe(status);
    return world.upstream.seen.at(-1)?.headers.authorization;
  };
  const first = await call();
  expect(await call()).toBe(first);
  world.advance(5);
  // The refusal of this call is old enough to count.
  expect(await call()).toBe(first);
  const renewed = await call();
  expect(renewed).not.toBe(first);
  expect(await call()).toBe(renewed);
});
