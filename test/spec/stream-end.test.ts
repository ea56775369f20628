import { expect, test } from 'vitest';
import { startWorld } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** An upstream whose stream never ends by itself. */
const world = startBeforeAll(() =>
  startWorld({
    routes: ['name: tools, path: /mcp, protocol: mcp, audience: a, upstream: { url: "UPSTREAM" }'],
    upstream: (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: message\ndata: {}\n\n');
    },
  }),
);

test('R-136: passes events on as they arrive, on a stream that stays open', async () => {
  const token = await world.issuer.sign({ aud: 'a' });
  const leave = new AbortController();
  const response = await fetch(`${world.gateway.url}/mcp`, {
    headers: { authorization: `Bearer ${token}` },
    signal: leave.signal,
  });
  const { value } = (await response.body?.getReader().read()) ?? {};
  expect(new TextDecoder().decode(value)).toBe('event: message\ndata: {}\n\n');
  leave.abort();
  await expect.poll(() => world.upstream.sockets.size).toBe(0);
});
