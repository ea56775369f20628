import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { inFolder, type Situation } from '../../config/folder.ts';
import { sallyport, type Sallyport } from '../process.ts';

/** A gateway with two workers. Connections go to them in turn. */
export interface Workers {
  readonly gateway: Sallyport;
  readonly folder: string;
  readonly url: string;
  /** Empty with `admin: off`. */
  readonly adminUrl: string;
}

/** Runs `serve --workers 2`, lets `use` look at it, and ends it. */
export async function withWorkers(situation: Situation, use: (workers: Workers) => Promise<void>): Promise<void> {
  await inFolder(situation, async (folder) => {
    const { env } = situation;
    const gateway = sallyport(['serve', '--workers', '2'], folder, { ...(env && { env }) });
    const [, url = '', adminUrl = ''] = await gateway.says(
      /"url":"(https?:[^"]+)"(?:,"admin":"(http:[^"]+)")?.*"workers":2/,
    );
    try {
      await use({ gateway, folder, url, adminUrl });
    } finally {
      gateway.signal('SIGTERM');
      expect(await gateway.ended).toBe(0);
    }
  });
}

/** The ids of the workers, the oldest first. */
export async function pids({ pid }: Pick<Sallyport, 'pid'>): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}
