import { afterEach, beforeEach, expect, test } from 'vitest';
import { createServerClient } from '../../../src/tokens/servers/client.ts';
import type { AuthorizationServerClient, ServerAnswer } from '../../../src/ports/authorization-server-client.ts';
import type { Denial } from '../../../src/core/model/denial.ts';
import { startFaultServer } from '../../support/fault-server.ts';
import { serverOf } from '../../support/server.ts';
import { startBeforeEach } from '../../support/start-before.ts';

let client: AuthorizationServerClient;

const server = startBeforeEach(startFaultServer);
beforeEach(async () => {
  client = createServerClient(serverOf(server.issuer, { timeoutMs: 60_000 }), () => {}, Date.now);
  server.fault('introspection', 'silence');
});
afterEach(async () => {
  client.close();
});

const { credentials } = serverOf({ url: '' }).introspection ?? {};

function ask(onBehalfOf: string): Promise<ServerAnswer | Denial> {
  const url = `${server.url}/introspect`;
  if (credentials === undefined) throw new TypeError('no credentials');
  return client
    .post('introspection', url, new URLSearchParams({ token: onBehalfOf }), credentials, { onBehalfOf })
    .catch((error: unknown) => error as Denial);
}

const asked = (onBehalfOf: string): number =>
  server.issuer.requests.filter(({ body }) => body === `token=${onBehalfOf}`).length;

test('a slow server gets the call of a new caller at once, however many others wait', async () => {
  const noisy = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.5'];
  for (const each of noisy) for (let time = 0; time < 300; time += 1) void ask(each);
  await expect.poll(() => server.asked()).toBeGreaterThan(200);
  void ask('198.51.100.1');
  await expect.poll(() => asked('198.51.100.1')).toBe(1);
  for (const each of noisy) expect(asked(each)).toBeLessThanOrEqual(64);
  expect(server.asked()).toBeLessThanOrEqual(256);
});

test('refuses a call at once if the queue of its address is full', async () => {
  for (let time = 0; time < 64 + 256; time += 1) void ask('192.0.2.1');
  expect(await ask('192.0.2.1')).toMatchObject({ reason: 'authorization_server.unavailable', retryAfterSeconds: 1 });
});

test('no call waits for a server whose circuit is open', async () => {
  const waiting = Array.from({ length: 300 }, () => ask('192.0.2.1'));
  await expect.poll(() => server.asked()).toBe(64);
  await server.down();
  const outcomes = await Promise.all(waiting);
  expect(new Set(outcomes.map((outcome) => (outcome as Denial).reason))).toEqual(
    new Set(['authorization_server.unavailable']),
  );
  // The waiting calls failed without a request.
  expect(server.asked()).toBe(64);
});
