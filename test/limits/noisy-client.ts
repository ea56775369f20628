import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Order, Reply, Statuses } from './noise.ts';
import type { Target } from './world.ts';

/** A noisy client in a process of its own. */
export interface NoisyClient {
  /** Resolves when the noise is at full strength. */
  begin(): Promise<void>;
  /** Resolves when the noise has ended. */
  end(): Promise<Statuses>;
  close(): void;
}

/** Starts the noise with this name. */
export function startNoisyClient(name: string, target: Target): NoisyClient {
  const client = fork(fileURLToPath(new URL('noise.ts', import.meta.url)), [name]);
  async function send(order: Order): Promise<Reply> {
    const answer = once(client, 'message');
    client.send(order);
    return ((await answer) as [Reply])[0];
  }
  return {
    begin: async () => void (await send({ begin: target })),
    async end() {
      const reply = await send({ end: true });
      return 'statuses' in reply ? reply.statuses : {};
    },
    close: () => client.disconnect(),
  };
}
