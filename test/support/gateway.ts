import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '../../src/cli/start.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { adminAt, keepConfig } from './secrecy.ts';
import { createWrittenLog, type WrittenLog } from './written-log.ts';

/** A gateway on free ports, configured by real files through the real loader. */
export interface TestGateway extends Omit<WrittenLog, 'decisions'> {
  readonly url: string;
  readonly adminUrl: string;
  /** Where proxies ask; `''` without `forward_auth`. */
  readonly forwardAuthUrl: string;
  /** Every line of its log, parsed. */
  readonly log: Record<string, unknown>[];
  /** The decisions among them. */
  decisions(): Record<string, unknown>[];
  metrics(): Promise<string>;
  close(): Promise<void>;
}

export interface TestGatewayOptions {
  /** The rest of gateway.yaml: everything but public_url, listen and admin. */
  readonly yaml: string;
  /** Name → text. */
  readonly policies?: Readonly<Record<string, string>>;
  /** Default http://gateway.test. */
  readonly publicUrl?: string;
  readonly clock?: Clock;
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts a gateway from `yaml` and `policies` in a folder of its own. */
export async function startTestGateway(options: TestGatewayOptions): Promise<TestGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  await mkdir(join(folder, 'policies'));
  for (const [name, text] of Object.entries(options.policies ?? {})) {
    await writeFile(join(folder, 'policies', `${name}.yaml`), text);
  }
  const publicUrl = options.publicUrl ?? 'http://gateway.test';
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, `public_url: ${publicUrl}\nlisten: 127.0.0.1:0\nadmin: 127.0.0.1:0\n${options.yaml}`);
  const log: Record<string, unknown>[] = [];
  const { output, ...written } = createWrittenLog(log);
  const config = await loadConfig(file, options.env ?? {});
  await rm(folder, { recursive: true });
  keepConfig(config);
  const running = await start(config, { output, ...(options.clock !== undefined && { clock: options.clock }) });
  adminAt(running.adminUrl);
  const adminUrl = running.adminUrl ?? '';
  return {
    ...written,
    url: running.url,
    adminUrl,
    forwardAuthUrl: running.forwardAuthUrl ?? '',
    log,
    decisions: () => log.filter(({ msg }) => msg === 'decision'),
    metrics: async () => (await fetch(`${adminUrl}/metrics`)).text(),
    close: () => running.close(0),
  };
}
