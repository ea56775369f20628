import { on } from 'node:events';
import { filesOf, type Snapshot } from '../config/files.ts';
import { load } from '../config/load.ts';
import type { Config } from '../model/config.ts';
import { reportAsWorker } from '../telemetry/worker-metrics.ts';
import { listenFault } from './listen-fault.ts';
import { startServing, type Serving } from './start.ts';
import { tellPrimary, type ToWorker } from './worker-messages.ts';

/** One process of several that serve: does what the primary process says, and ends with it. */
export async function work(): Promise<never> {
  // A terminal sends its signals to every process; the primary one passes on what is meant for this one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  let serving: Serving | undefined;
  // Whoever killed the primary process meant all of it.
  process.once('disconnect', () => void end(serving, 0));
  // One after the other; what comes while a configuration is loaded waits.
  for await (const [message] of on(process, 'message') as AsyncIterable<[ToWorker]>) {
    // Others speak over the same channel: metrics are asked for there.
    if (!('kind' in message)) continue;
    if (message.kind === 'begin') serving = await begin(message);
    else if (serving !== undefined) await obey(serving, message);
  }
  throw new TypeError('messages end with the process');
}

async function begin({ file, snapshot, key }: Extract<ToWorker, { kind: 'begin' }>): Promise<Serving> {
  try {
    const serving = await startServing(await configOf(file, snapshot), { key: Buffer.from(key, 'hex') });
    reportAsWorker(serving.metrics.registry);
    tellPrimary({ kind: 'listening', url: serving.service.url });
    return serving;
  } catch (error) {
    tellPrimary({ kind: 'failed', why: listenFault(error) });
    process.exit(1);
  }
}

async function obey(serving: Serving, message: Exclude<ToWorker, { kind: 'begin' }>): Promise<void> {
  const { service, metrics } = serving;
  switch (message.kind) {
    case 'reload':
      service.reload(await configOf(message.file, message.snapshot));
      break;
    case 'reload-refused':
      metrics.reloadFailed();
      break;
    case 'state':
      tellPrimary({
        kind: 'state',
        id: message.id,
        state: { servers: service.servers(), store: service.sharedStore(), denials: serving.log.denials() },
      });
      break;
    case 'stop':
      await end(serving, message.graceMs);
      break;
    default:
      throw new TypeError(`${String(message satisfies never)} is not a message`);
  }
}

async function configOf(file: string, snapshot: Snapshot): Promise<Config> {
  return (await load(file, process.env, filesOf(snapshot))).config;
}

async function end(serving: Serving | undefined, graceMs: number): Promise<never> {
  await serving?.close(graceMs);
  process.exit(0);
}
