import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Order, Statuses, Told } from './noise.ts';
import type { Target } from './world.ts';

/** A nuisance, in a process of its own. */
export interface NoisyClient {
  /** Resolves when it is in full swing. */
  begin(): Promise<void>;
  /** Resolves when it is over. */
  end(): Promise<Statuses>;
  close(): void;
}

/** Starts the one that has this name among the noises. */
export function startNoisyClient(name: string, target: Target): NoisyClient {
  const client = fork(fileURLToPath(new URL('noise.ts', import.meta.url)), [name]);
  async function tell(order: Order): Promise<Told> {
    const answer = once(client, 'message');
    client.send(order);
    return ((await answer) as [Told])[0];
  }
  return {
    begin: async () => void (await tell({ begin: target })),
    async end() {
      const told = await tell({ end: true });
      return 'statuses' in told ? told.statuses : {};
    },
    close: () => client.disconnect(),
  };
}
