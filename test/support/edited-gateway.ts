import { mkdir, mkdtemp, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { reloadOnEdit } from '../../src/serve/reload.ts';
import { start } from '../../src/serve/start.ts';
import { load } from '../../src/config/load.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { adminAt, keepConfig, noLongerAdminAt } from './secrecy.ts';
import { createWrittenLog, type Line, type WrittenLog } from './written-log.ts';

/** A gateway whose configuration files a test edits. */
export interface EditedGateway extends WrittenLog {
  readonly url: string;
  readonly adminUrl: string;
  readonly folder: string;
  /** Replaces a file of the folder in one step, and waits for the log line about the reload. */
  save(name: string, text: string): Promise<Line>;
  /** Runs `act`, and waits for the log line about the reload. */
  after(act: () => unknown): Promise<Line>;
  metrics(): Promise<string>;
  ready(): Promise<Line>;
  close(): Promise<void>;
}

/** Starts a gateway by `gateway.yaml` (without public_url, listen and admin) and policies by their names. */
export async function startEditedGateway(
  yaml: string,
  policies: Readonly<Record<string, string>>,
  clock: Clock = Date.now,
): Promise<EditedGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  const file = join(folder, 'gateway.yaml');
  await mkdir(join(folder, 'policies'));
  for (const [name, text] of Object.entries(policies)) await writeFile(join(folder, 'policies', `${name}.yaml`), text);
  await writeFile(file, withAddresses(yaml));

  const waiting = new Set<(line: Line) => void>();
  const { output, ...log } = createWrittenLog((line) => {
    if (String(line['msg']).startsWith('configuration re')) for (const tell of waiting) tell(line);
  });
  const since = Date.now();
  const loaded = await load(file, {});
  keepConfig(loaded.config);
  const running = await start(loaded.config, { output, clock });
  adminAt(running.adminUrl);
  const reloading = await reloadOnEdit(file, loaded, since, running);
  const after = async (act: () => unknown): Promise<Line> => {
    const { promise, resolve } = Promise.withResolvers<Line>();
    waiting.add(resolve);
    await act();
    const line = await promise;
    waiting.delete(resolve);
    return line;
  };
  return {
    ...log,
    url: running.url,
    adminUrl: running.adminUrl ?? '',
    folder,
    after,
    save: (name, text) =>
      after(async () => {
        const path = join(folder, name);
        const beside = join(dirname(path), `.${Math.random()}`);
        await writeFile(beside, name === 'gateway.yaml' ? withAddresses(text) : text);
        await rename(beside, path);
      }),
    metrics: async () => (await fetch(`${running.adminUrl}/metrics`)).text(),
    ready: async () => (await (await fetch(`${running.adminUrl}/readyz`)).json()) as Line,
    async close() {
      noLongerAdminAt(running.adminUrl);
      reloading.close();
      await running.close(0);
    },
  };
}

function withAddresses(yaml: string): string {
  return `public_url: http://gateway.test\nlisten: 127.0.0.1:0\nadmin: 127.0.0.1:0\n${yaml}`;
}
