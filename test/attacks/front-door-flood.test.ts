/**
 * A site sends the browsers of many people to the front door, and through the provider, to fill its memory.
 *
 * @module
 */
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/front-door/memory-store.ts';
import { createSignIns } from '../../src/front-door/sign-ins.ts';

test('a flood of sign-ins that come back does not keep others out, and each counts once', async () => {
  const signIns = createSignIns(createMemoryStore(Date.now), { bind() {}, isBound: () => true }, Date.now);
  const request = new IncomingMessage(new Socket());
  const about = { interaction: 'one', provider: 'corporate', hasConsented: true, maxAgeSeconds: undefined };
  const taken = async (): Promise<readonly boolean[]> => {
    const { state } = await signIns.begin({ ...about, mustBeNew: false });
    const both = await Promise.all([1, 2].map(() => signIns.take(request, state, 'corporate')));
    return both.map((each) => each?.state === state);
  };
  for (let count = 0; count < 50_000; count += 1) await taken();
  expect(await taken()).toEqual([true, false]);
});
