import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '../../src/serve/start.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Ledger } from '../../src/model/ledger.ts';
import { adminAt, keepConfig, noLongerAdminAt } from './secrecy.ts';
import { createWrittenLog, type WrittenLog } from './written-log.ts';

/** A gateway on free ports, configured by real files through the real loader. */
export interface TestGateway extends WrittenLog {
  readonly url: string;
  readonly adminUrl: string;
  /** Where proxies ask; `''` without `forward_auth`. */
  readonly forwardAuthUrl: string;
  metrics(): Promise<string>;
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
  /** Counts calls for rules over time. Default: in memory. */
  readonly ledger?: Ledger | undefined;
  readonly env?: NodeJS.ProcessEnv;
  /** Called with each line of the log. */
  readonly onLine?: () => void;
}

/** Starts a gateway from `yaml` and `policies` in a folder of its own. */
export async function startTestGateway(options: TestGatewayOptions): Promise<TestGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  await mkdir(join(folder, 'policies'));
  for (const [name, text] of Object.entries(options.policies ?? {})) {
    await writeFile(join(folder, 'policies', `${name}.yaml`), text);
  }
  const { publicUrl = 'http://gateway.test', listen = '127.0.0.1:0', admin = '127.0.0.1:0' } = options;
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, `public_url: ${publicUrl}\nlisten: ${listen}\nadmin: ${admin}\n${options.yaml}`);
  const { output, ...log } = createWrittenLog(options.onLine);
  const config = await loadConfig(file, options.env ?? {});
  await rm(folder, { recursive: true });
  keepConfig(config);
  const running = await start(config, {
    output,
    ...(options.clock !== undefined && { clock: options.clock }),
    ...(options.ledger !== undefined && { ledger: options.ledger }),
  });
  adminAt(running.adminUrl);
  const adminUrl = running.adminUrl ?? '';
  return {
    ...log,
    url: running.url,
    adminUrl,
    forwardAuthUrl: running.forwardAuthUrl ?? '',
    metrics: async () => (await fetch(`${adminUrl}/metrics`)).text(),
    close() {
      noLongerAdminAt(running.adminUrl);
      return running.close(0);
    },
  };
}

/** The value of one sample of the metrics, by its name and labels as written; 0 where it is missing. */
export async function sample({ metrics }: Pick<TestGateway, 'metrics'>, name: string): Promise<number> {
  const line = (await metrics()).split('\n').find((text) => text.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}
