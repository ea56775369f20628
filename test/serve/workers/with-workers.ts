import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { inFolder, type Situation } from '../config/folder.ts';
import { sallyport, type Sallyport } from '../process.ts';

export const patience = { timeout: 60_000 };

/** A gateway with two workers. Connections go to them in turn. */
export interface Workers {
  readonly gateway: Sallyport;
  readonly folder: string;
  readonly url: string;
  readonly adminUrl: string;
  /** Ends the gateway. */
  close(): Promise<void>;
}

/** Runs `serve --workers 2`. */
export async function startWithWorkers(situation: Situation): Promise<Workers> {
  const folder = await inFolder(situation, async (path) => path);
  const { env } = situation;
  const gateway = sallyport(['serve', '--workers', '2'], folder, { ...(env && { env }) });
  const [, url = '', adminUrl = ''] = await gateway.says(/"url":"(https?:[^"]+)","admin":"(http:[^"]+)".*"workers":2/);
  return {
    gateway,
    folder,
    url,
    adminUrl,
    async close() {
      gateway.signal('SIGTERM');
      expect(await gateway.ended).toBe(0);
    },
  };
}

/** The ids of the workers, the oldest first. */
export async function pids({ pid }: Pick<Sallyport, 'pid'>): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

/** Kills a worker, by default the oldest; resolves when another has been started. */
export async function replaceOne(gateway: Sallyport, index = 0): Promise<void> {
  const { [index]: victim = 0 } = await pids(gateway);
  process.kill(victim, 'SIGKILL');
  await expect.poll(() => pids(gateway), patience).not.toContain(victim);
  await expect.poll(async () => (await pids(gateway)).length, patience).toBe(2);
}
