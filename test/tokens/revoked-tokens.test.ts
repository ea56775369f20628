import { expect, test } from 'vitest';
import { createSealing } from '../../src/capabilities/shared-store/sealing.ts';
import type { StoreCommands, StoreConnection } from '../../src/ports/store.ts';
import { publishRevoked, revocationsFor } from '../../src/tokens/revoked-tokens.ts';

const sealing = createSealing('k3y-of-at-least-thirty-two-characters');
const other = createSealing('another-k3y-of-at-least-thirty-two');

interface Published {
  readonly operation: string;
  readonly key: string;
  readonly channel: string;
  readonly message: string;
}

/** What a front door sends to the store. */
async function published(digests: readonly string[], by = sealing): Promise<readonly Published[]> {
  const sent: Published[] = [];
  const run = (operation: string, key: string, command: (client: StoreCommands) => Promise<number>): Promise<number> =>
    command({
      sPublish: async (channel: string, message: string) => sent.push({ operation, key, channel, message }),
    } as unknown as StoreCommands);
  await publishRevoked({ connection: { run } as unknown as StoreConnection, sealing: by }, digests);
  return sent;
}

/** A gateway on the store, and the tokens that it heard of. */
function gateway() {
  const heard: (readonly string[])[] = [];
  let missed = 0;
  const onRevoked = (digests: readonly string[]): void => void heard.push(digests);
  const onMissed = (): void => void (missed += 1);
  return { ...revocationsFor({ onRevoked, onMissed })(sealing), heard, missed: () => missed };
}

test('a gateway hears of all revoked tokens, in messages of a thousand at most', async () => {
  const digests = Array.from({ length: 2001 }, (_, i) => String(i).padStart(43, 'x'));
  const { channel, onMessage, heard } = gateway();
  for (const sent of await published(digests)) {
    expect(sent).toMatchObject({ operation: 'publish', key: channel, channel });
    onMessage(sent.message);
  }
  expect(heard.map(({ length }) => length)).toEqual([1000, 1000, 1]);
  expect(heard.flat()).toEqual(digests);
  expect(await published([])).toEqual([]);
});

test('a gateway hears only messages of replicas with its session key, sealed for the channel', async () => {
  const { channel, onMessage, heard } = gateway();
  expect(channel).toBe(sealing.place('channel', 'revoked tokens'));
  for (const sent of await published(['a'], other)) {
    expect(sent.channel).not.toBe(channel);
    onMessage(sent.message);
  }
  onMessage('["a"]');
  onMessage(other.seal(channel, '["a"]'));
  onMessage(sealing.seal(sealing.place('exchange', 'revoked tokens'), '["a"]'));
  onMessage(sealing.seal(sealing.place('channel', 'other'), '["a"]'));
  expect(heard).toEqual([]);
});

test('a gateway opens no message of more than 256 KiB', () => {
  const { channel, onMessage, heard } = gateway();
  /** Of a sealed message with this many characters. */
  const digestFor = (characters: number): string => 'a'.repeat((characters * 3) / 4 - 28 - '[""]'.length);
  for (const size of [256 * 1024, 256 * 1024 + 4]) {
    const message = sealing.seal(channel, JSON.stringify([digestFor(size)]));
    expect(message).toHaveLength(size);
    onMessage(message);
  }
  expect(heard).toEqual([[digestFor(256 * 1024)]]);
});

test('a gateway that was cut off learns that it missed messages', () => {
  const { onSubscribed, missed } = gateway();
  onSubscribed();
  expect(missed()).toBe(1);
});
