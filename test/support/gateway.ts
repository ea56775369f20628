import { mkdtemp, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { reloadOnEdit } from '../../src/serve/reload.ts';
import { start } from '../../src/serve/start.ts';
import { load } from '../../src/serve/config/load.ts';
import type { Clock } from '../../src/core/lib/clock.ts';
import { adminAt, keepConfig, noLongerAdminAt } from './secrecy.ts';
import { createWrittenLog, type Line, type WrittenLog } from './written-log.ts';

/** A gateway on free ports, configured by real files through the real loader. */
export interface TestGateway extends WrittenLog {
  readonly url: string;
  readonly adminUrl: string;
  /** Where proxies ask; `''` without `forward_auth`. */
  readonly forwardAuthUrl: string;
  metrics(): Promise<string>;
  /** What `/readyz` says. */
  ready(): Promise<Line>;
  close(): Promise<void>;
}

export interface TestGatewayOptions {
  /** The rest of gateway.yaml: everything but public_url, listen and admin. */
  readonly yaml: string;
  /** `admin`, in YAML. Default 127.0.0.1:0. */
  readonly admin?: string;
  /** Name → text. */
  readonly policies?: Readonly<Record<string, string>>;
  /** Default http://gateway.test. */
  readonly publicUrl?: string;
  /** Default: a free port of loopback. */
  readonly listen?: string;
  readonly clock?: Clock;
  readonly env?: NodeJS.ProcessEnv;
  /** Called with each line of the log. */
  readonly onLine?: (line: Line) => void;
}

/** Starts a gateway from `yaml` and `policies`. */
export async function startTestGateway(options: TestGatewayOptions): Promise<TestGateway> {
  const { gateway, folder } = await startFromFiles(options);
  await rm(folder, { recursive: true });
  return gateway;
}

/** A gateway whose configuration files a test edits. */
export interface EditedGateway extends TestGateway {
  readonly folder: string;
  /** Replaces a file of the folder in one step, and waits for the log line about the reload. */
  save(name: string, text: string): Promise<Line>;
  /** Runs `act`, and waits for the log line about the reload. */
  after(act: () => unknown): Promise<Line>;
  ready(): Promise<Line>;
}

/** Starts a gateway that reads `yaml` and `policies` again when they change. */
export async function startEditedGateway(
  yaml: string,
  policies: Readonly<Record<string, string>>,
  clock: Clock = Date.now,
): Promise<EditedGateway> {
  const waiting = new Set<(line: Line) => void>();
  const onLine = (line: Line): void => {
    if (String(line['msg']).startsWith('configuration re')) for (const tell of waiting) tell(line);
  };
  const since = Date.now();
  const { gateway, folder, file, loaded, running } = await startFromFiles({ yaml, policies, clock, onLine });
  const reloading = await reloadOnEdit(file, loaded, {
    since,
    running,
    processes: { workers: 1, withoutFrontDoor: false },
  });
  const after = async (act: () => unknown): Promise<Line> => {
    const { promise, resolve } = Promise.withResolvers<Line>();
    waiting.add(resolve);
    await act();
    const line = await promise;
    waiting.delete(resolve);
    return line;
  };
  return {
    ...gateway,
    folder,
    after,
    save: (name, text) =>
      after(async () => {
        const path = join(folder, name);
        const beside = join(dirname(path), `.${Math.random()}`);
        await writeFile(beside, name === 'gateway.yaml' ? withAddresses({ yaml: text }) : text);
        await rename(beside, path);
      }),
    ready: async () => (await (await fetch(`${gateway.adminUrl}/readyz`)).json()) as Line,
    close() {
      reloading.close();
      return gateway.close();
    },
  };
}

/** Writes the files to a folder of their own, and starts a gateway from them. */
async function startFromFiles(options: TestGatewayOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  await mkdir(join(folder, 'policies'));
  for (const [name, text] of Object.entries(options.policies ?? {})) {
    await writeFile(join(folder, 'policies', `${name}.yaml`), text);
  }
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, withAddresses(options));
  const { output, ...log } = createWrittenLog(options.onLine);
  const loaded = await load(file, options.env ?? {});
  keepConfig(loaded.config);
  const running = await start(loaded.config, {
    output,
    ...(options.clock !== undefined && { clock: options.clock }),
  });
  adminAt(running.adminUrl);
  const adminUrl = running.adminUrl ?? '';
  const gateway: TestGateway = {
    ...log,
    url: running.url,
    adminUrl,
    forwardAuthUrl: running.listeners.find(({ name }) => name === 'forward_auth')?.url ?? '',
    metrics: async () => (await fetch(`${adminUrl}/metrics`)).text(),
    ready: async () => (await (await fetch(`${adminUrl}/readyz`)).json()) as Line,
    close() {
      noLongerAdminAt(running.adminUrl);
      return running.close(0);
    },
  };
  return { gateway, folder, file, loaded, running };
}

function withAddresses({
  yaml,
  publicUrl = 'http://gateway.test',
  listen = '127.0.0.1:0',
  admin = '127.0.0.1:0',
}: TestGatewayOptions): string {
  return `public_url: ${publicUrl}\nlisten: ${listen}\nadmin: ${admin}\n${yaml}`;
}

/** The value of one sample of the metrics, by its name and labels as written; 0 where it is missing. */
export async function sample({ metrics }: Pick<TestGateway, 'metrics'>, name: string): Promise<number> {
  const line = (await metrics()).split('\n').find((text) => text.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}
