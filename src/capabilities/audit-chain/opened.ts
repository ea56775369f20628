import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Config } from '../../ports/config.ts';
import type { Meters } from '../../core/telemetry/metrics.ts';
import type { OpenedLines } from '../capability.ts';
import { Chain, type Head, linkedLine } from './chain.ts';
import { openAuditKeys } from './key.ts';
import { chainSettings } from './settings.ts';

/** How much of the end of `log.file` is searched for heads. */
const TAIL_BYTES = 16 * 1024 * 1024;

/** Opens the chains of a process. @throws {ConfigError} if there is no key. */
export async function openChains(
  config: Config,
  clock: () => number,
  meters: Meters | undefined,
): Promise<OpenedLines | undefined> {
  const settings = chainSettings.of(config);
  const { file } = config.log;
  if (settings === undefined) return undefined;
  const { signing, published } = await openAuditKeys(settings.key);
  const follows = file === undefined ? [] : await headsIn(file);
  const timers: NodeJS.Timeout[] = [];
  return {
    of(output, flush) {
      const onCheckpoint = (): void => meters?.add('sallyport_log_checkpoints_total', 1, output);
      const chain = new Chain({ key: signing, follows, clock, onCheckpoint });
      const close = (): void => {
        chain.closeSection();
        flush();
      };
      timers.push(setInterval(close, settings.everyMs).unref());
      // The first checkpoint, before the first line.
      setImmediate(flush);
      return chain;
    },
    documents: { '/audit-keys': published },
    close() {
      for (const timer of timers) clearInterval(timer);
    },
  };
}

/** The last line of each chain at the end of a file. */
async function headsIn(path: string): Promise<readonly Head[]> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return [];
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - start), position: start });
    const heads = new Map<string, Head>();
    // Bytes of other encodings keep their number: hashes are over bytes.
    for (const line of buffer.toString('latin1', 0, bytesRead).split('\n')) {
      const [, chain, seq = ''] = linkedLine.exec(line) ?? [];
      if (chain !== undefined)
        heads.set(chain, { chain, seq: Number(seq), hash: hash('sha256', Buffer.from(line, 'latin1'), 'base64url') });
    }
    return [...heads.values()].slice(-MAX_HEADS);
  } finally {
    await file.close();
  }
}

/** The most heads in a line. */
const MAX_HEADS = 64;
