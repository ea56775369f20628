import type { Writable } from 'node:stream';
import { startAdmin } from '../admin/admin.ts';
import type { Clock } from '../lib/clock.ts';
import type { Config } from '../model/config.ts';
import { startService } from '../service.ts';
import { createJsonLines } from '../telemetry/json-lines.ts';
import { createLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';

/** Both listeners of a serving process. */
export interface Running {
  readonly url: string;
  /** Undefined with `admin: off`. */
  readonly adminUrl: string | undefined;
  /** Accepts no more, lets requests finish for `graceMs`, then ends what is left. */
  close(graceMs: number): Promise<void>;
}

/** Where the log goes, and what time it is. */
export interface StartOptions {
  readonly output?: Writable;
  readonly clock?: Clock;
}

/**
 * Starts the gateway and its admin listener.
 *
 * @throws the system's error where an address cannot be listened on; then nothing is left running.
 */
export async function start(config: Config, options: StartOptions = {}): Promise<Running> {
  const { output = process.stdout, clock = Date.now } = options;
  const lines = createJsonLines(output);
  const metrics = createMetrics();
  const log = createLog(config.log, lines);
  const service = await startService(config, { log, metrics, clock });
  try {
    const admin = config.admin && (await startAdmin(config.admin, service, metrics));
    log.event('info', 'listening', { url: service.url, admin: admin?.url, config: config.hash });
    return {
      url: service.url,
      adminUrl: admin?.url,
      async close(graceMs) {
        await service.close(graceMs);
        await admin?.close();
        lines.flush();
      },
    };
  } catch (error) {
    await service.close(0);
    throw error;
  }
}
