import { describe, expect, onTestFinished, test } from 'vitest';
import type { EventSource } from '../../../src/capabilities/revocation/sources.ts';
import type { LeaseState } from '../../../src/capabilities/revocation/place.ts';
import { Delivery } from '../../../src/capabilities/revocation/delivery.ts';
import type { Receiver } from '../../../src/capabilities/revocation/receiver.ts';
import { STREAM_UPDATED } from '../../../src/capabilities/revocation/security-event.ts';
import { startTransmitter } from '../../support/transmitter.ts';
import { sample } from '../../support/gateway.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { forThisTest } from '../../support/start-before.ts';
import { startRevocationWorld } from '../../worlds/revocation.ts';

/** A replica, to which another one or a foreign value in the store leaves nothing to do. */
async function standby(state: () => LeaseState) {
  const transmitter = await forThisTest(startTransmitter());
  const source: EventSource = {
    name: 'okta',
    issuer: transmitter.url,
    endpointOrigins: new Set(),
    audience: 'https://receiver.example',
    targets: [],
    delivery: 'push',
    path: '/events',
    authorization: undefined,
    token: undefined,
    stream: 'existing',
    streamId: undefined,
  };
  const now = { ms: 1_000_000 };
  const told: (readonly unknown[])[] = [];
  const asked: (number | undefined)[] = [];
  const delivery = new Delivery({
    source,
    publicUrl: 'http://gateway.test',
    receiver: undefined as unknown as Receiver,
    observer: {
      counted() {},
      sourceUp: (_name, up) => void told.push([up]),
      event: (_level, msg, fields) => void told.push([msg, fields?.['problem']]),
    },
    clock: () => now.ms,
    async lease(polledAt) {
      asked.push(polledAt);
      return state();
    },
    stateKey: 'key',
  });
  onTestFinished(() => delivery.close());
  /** Lets a time pass until the next step. */
  async function after(ms: number): Promise<readonly unknown[] | undefined> {
    const before = told.length;
    await expect
      .poll(() => {
        if (told.length === before) delivery.onStreamEvent(STREAM_UPDATED);
        return told.length;
      })
      .toBeGreaterThan(before);
    told.length = 0;
    now.ms += ms;
    delivery.onStreamEvent(STREAM_UPDATED);
    await expect.poll(() => told.length).toBeGreaterThan(0);
    return told.at(-1);
  }
  return { after, asked, now };
}

describe('a replica that another one keeps from polling', () => {
  test('says that the source is down when no replica has polled for a minute', async () => {
    const { after } = await standby(() => ({ isHeld: false, polledAt: undefined }));
    expect(await after(59_000)).toEqual([undefined]);
    expect(await after(2_000)).toEqual([
      'a source of revocations is unavailable',
      'no replica has polled for a minute',
    ]);
  });

  test('believes the other one as long as it polls', async () => {
    let polledAt = 0;
    const { after, now } = await standby(() => ({ isHeld: false, polledAt }));
    polledAt = now.ms + 100_000;
    expect(await after(120_000)).toEqual([undefined]);
    expect(await after(50_000)).toContain('no replica has polled for a minute');
  });

  test('tells others when it last knew that events arrive', async () => {
    const { after, asked, now } = await standby(() => ({ isHeld: true, polledAt: undefined }));
    expect(await after(1_000)).toEqual([true]);
    expect(asked[0]).toBeUndefined();
    expect(asked.at(-1)).toBe(now.ms);
  });
});

test.runIf(hasRedis)('a foreign value in the store keeps no gateway from polling, and is logged', async () => {
  const redis = await forThisTest(startRedis());
  const transmitter = await startTransmitter();
  const polls = (): number => transmitter.requests.filter(({ path }) => path === '/poll').length;
  const world = await forThisTest(
    startRevocationWorld({
      transmitter,
      yaml: `shared: ${redis.url}\nsession_key: k3y-of-at-least-thirty-two-characters`,
      source: (issuer) => `issuer: ${issuer}, subjects: main, token: '\${env:TRANSMITTER_TOKEN}'`,
    }),
  );
  await expect.poll(polls).toBeGreaterThan(0);
  const [, key = ''] = await leaseKeys();
  expect(key).not.toBe('');
  await redis.client.set(key, 'another-replica');
  await expect.poll(() => redis.client.get(key), { timeout: 20_000 }).not.toBe('another-replica');
  await world.gateway.line({ msg: 'shared store holds a revocation that no replica wrote' });
  expect(await sample(world.gateway, 'sallyport_revocation_source_up{source="okta"}')).toBe(1);

  /** The only text among the keys of revocations that lives for seconds. */
  async function leaseKeys(): Promise<readonly string[]> {
    const found = [''];
    for (const each of await redis.client.keys('*{revocations}*')) {
      const left = await redis.client.pTTL(each);
      if ((await redis.client.type(each)) === 'string' && left > 0 && left <= 15_000) found.push(each);
    }
    return found;
  }
});
