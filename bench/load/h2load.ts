import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Request } from './wrk.ts';

/** The time between the first requests of two connections, which their later requests keep, in ms. */
const APART_MS = 1;

/**
 * Sends `perSecond` GET requests a second over persistent connections that take turns, and writes to `log`. Returns the
 * latency of each, in ms. All must get 200. The first second is not counted.
 */
export async function paced(
  url: string,
  { path, headers }: Request,
  { perSecond, seconds, connections, log }: { perSecond: number; seconds: number; connections: number; log: string },
): Promise<readonly number[]> {
  const fields = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const perTurn = Math.ceil((perSecond * APART_MS) / 1000);
  // h2load appends.
  await rm(log, { force: true });
  await promisify(execFile)('h2load', [
    '--h1',
    '--threads=1',
    `--clients=${connections}`,
    `--rps=${perSecond / connections}`,
    `--requests=${perSecond * (seconds + 1)}`,
    `--rate=${perTurn}`,
    `--rate-period=${APART_MS}ms`,
    `--log-file=${log}`,
    ...fields,
    url + path,
  ]);
  const rows = (await readFile(log, 'utf8')).trimEnd().split('\n');
  const answers = rows.map((row) => row.split('\t').map(Number) as [sinceUs: number, status: number, tookUs: number]);
  const failed = answers.filter(([, status]) => status !== 200).length;
  if (failed > 0) throw new Error(`${failed} of ${answers.length} requests to ${url}${path} failed`);
  const begin = (answers[0]?.[0] ?? 0) + 1_000_000;
  return answers.filter(([since]) => since >= begin).map(([, , took]) => took / 1000);
}
