/** The events of an answer to a poll (RFC 8936 §2.4), and what a transmitter that sends too many of them costs. */
import { expect, test } from 'vitest';
import type { EventSource } from '../../../src/capabilities/revocation/sources.ts';
import { Delivery } from '../../../src/capabilities/revocation/delivery.ts';
import { startTransmitter, transmitterToken } from '../../support/transmitter.ts';

function sourceAt(issuer: string): EventSource {
  const none = { path: undefined, authorization: undefined, streamId: undefined };
  return {
    ...none,
    name: 'okta',
    issuer,
    audience: 'a',
    targets: [],
    delivery: 'poll',
    token: transmitterToken,
    endpointOrigins: new Set([issuer]),
    stream: 'create',
  };
}

test('takes at most as many events as it asked for, one after the other, with turns of the event loop between', async () => {
  const transmitter = await startTransmitter();
  for (let next = 0; next < 250; next += 1) transmitter.waiting.set(`j${next}`, 'a SET');
  const seen = { taken: 0, inFlight: 0, most: 0, turns: 0 };
  const delivery = new Delivery({
    source: sourceAt(transmitter.url),
    publicUrl: 'http://gateway.test',
    receiver: {
      async receive() {
        seen.taken += 1;
        seen.inFlight += 1;
        seen.most = Math.max(seen.most, seen.inFlight);
        const before = seen.taken;
        setImmediate(() => (seen.turns += Number(seen.taken === before)));
        await Promise.resolve();
        seen.inFlight -= 1;
        return { kind: 'taken' };
      },
    },
    observer: { counted() {}, sourceUp() {}, event() {} },
    clock: Date.now,
    lease: async () => ({ isHeld: true, polledAt: undefined }),
    stateKey: 'k',
  });
  await expect.poll(() => transmitter.waiting.size).toBe(0);
  await delivery.close();
  const acknowledged = transmitter.requests
    .filter(({ path }) => path === '/poll')
    .map(({ body }) => (JSON.parse(body) as { ack?: string[] }).ack?.length ?? 0);
  expect(Math.max(...acknowledged)).toBe(100);
  expect(seen.most).toBe(1);
  expect(seen.turns).toBe(seen.taken);
  await transmitter.close();
});
