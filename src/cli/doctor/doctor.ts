import { loadConfig } from '../../config/load.ts';
import { printable } from '../../lib/wording.ts';
import { examine } from '../doctor/examine.ts';
import { examineClient } from '../doctor/client.ts';
import type { Finding } from '../doctor/finding.ts';
import { clients } from '../../model/quirks/clients.ts';
import { coloured } from '../colour.ts';
import { type ExitCode, reportProblems, UsageError } from '../exit.ts';
import { tokenOnStdin } from '../token-on-stdin.ts';

/** The options of `doctor`. */
export interface DoctorOptions {
  readonly config: string;
  /** `-`: read from stdin. */
  readonly token: string | undefined;
  readonly route: string | undefined;
  /** The name of a known client, whose way to walk. */
  readonly client: string | undefined;
  /** Whether the client registers. */
  readonly register: boolean;
}

/**
 * `sallyport doctor`: examines everything that a deployment needs, one line each, and exits with 1 if anything fails.
 *
 * @throws {UsageError}
 */
export async function doctor({ config: file, token, route, client, register }: DoctorOptions): Promise<ExitCode> {
  if (token === undefined && route !== undefined) throw new UsageError('--route needs --token -');
  if (client === undefined && register) throw new UsageError('--register needs --client NAME');
  if (client !== undefined && !Object.hasOwn(clients, client)) {
    throw new UsageError(`--client takes ${Object.keys(clients).join(', ')}, not ${JSON.stringify(client)}`);
  }
  if (client !== undefined && token !== undefined) throw new UsageError('--client cannot be combined with --token');
  const value = await tokenOnStdin(token);
  let config;
  try {
    config = await loadConfig(file);
  } catch (error) {
    return reportProblems(file, error);
  }
  const counts = { ok: 0, warn: 0, fail: 0 };
  const findings =
    client === undefined
      ? examine(config, value === undefined ? undefined : { value, route })
      : await examineClient(client, config, register);
  for await (const finding of findings) {
    counts[finding.status] += 1;
    process.stdout.write(lineOf(finding));
  }
  process.stdout.write(`${counts.ok} ok, ${counts.warn} warn, ${counts.fail} fail\n`);
  return counts.fail === 0 ? 0 : 1;
}

const colours = { ok: 'good', warn: 'warning', fail: 'bad' } as const;

function lineOf({ status, subject, text: found, remedy }: Finding): string {
  const start = coloured(colours[status], status.padEnd(4));
  return `${start} ${printable(`${subject}: ${found}${remedy === undefined ? '' : `: ${remedy}`}`)}\n`;
}
