import { existsSync } from 'node:fs';
import { load } from '../config/load.ts';
import { durationMs } from '../lib/quantity.ts';
import { calledIn } from '../model/decision.ts';
import { harmlessJson } from '../telemetry/json-lines.ts';
import { decisionsIn, type LoggedDecision, SkippedLines } from './decision-log.ts';
import { type ExitCode, reportProblems, reportUnreadable, UsageError } from './exit.ts';
import { createTable } from './log-table.ts';
import { createSummary } from './log-summary.ts';

/** The options of `sallyport log`: a filter is a text, undefined for all. */
export interface LogOptions {
  readonly config: string;
  /** A duration until now, or a date. */
  readonly since: string | undefined;
  readonly route: string | undefined;
  readonly subject: string | undefined;
  readonly client: string | undefined;
  readonly tool: string | undefined;
  /** A reason, or the first part of one: `token` for all `token.…`. */
  readonly reason: string | undefined;
  readonly denied: boolean;
  readonly follow: boolean;
  readonly json: boolean;
  readonly summary: boolean;
}

/**
 * `sallyport log`: prints the decisions of a log, or their counts.
 *
 * @param file `-` for stdin; undefined: `log.file` of the configuration, or else stdin.
 * @throws {UsageError} for options that contradict each other, and without a log.
 */
export async function log(file: string | undefined, options: LogOptions): Promise<ExitCode> {
  if (options.summary && options.follow) throw new UsageError('--summary needs the end of the log: omit --follow');
  const isWanted = filterOf(options, Date.now());
  let from = file;
  try {
    from ??= await configuredFile(options.config);
  } catch (error) {
    return reportProblems(options.config, error);
  }
  if (from === '-' && file === undefined && process.stdin.isTTY) {
    throw new UsageError(`FILE is missing: pass the output of serve, or set log.file in ${options.config}`);
  }
  try {
    return await printed(from, isWanted, options);
  } catch (error) {
    return reportUnreadable(from, error);
  }
}

async function configuredFile(config: string): Promise<string> {
  if (!existsSync(config)) return '-';
  return (await load(config)).config.log.file ?? '-';
}

type Filter = (decision: LoggedDecision) => boolean;

/** @throws {UsageError} for a `since` that is no time. */
function filterOf({ since, route, subject, client, tool, reason, denied }: LogOptions, now: number): Filter {
  const start = since === undefined ? undefined : timeOf(since, now);
  return (decision) =>
    (start === undefined || decision.at >= start) &&
    (route ?? decision.route) === decision.route &&
    (subject ?? decision.subject) === decision.subject &&
    (client ?? decision.clientId) === decision.clientId &&
    (tool === undefined || tool === calledIn(decision)) &&
    (reason === undefined || `${decision.reason}.`.startsWith(`${reason}.`)) &&
    (!denied || !decision.allow || decision.shadow);
}

/** Milliseconds since the epoch, of a duration before `now` or of a date. */
function timeOf(since: string, now: number): number {
  const [, days] = /^([1-9][0-9]{0,4})d$/.exec(since) ?? [];
  const ago = durationMs(days === undefined ? since : `${Number(days) * 24}h`);
  const time = ago === undefined && /^\d{4}-\d\d-\d\d/.test(since) ? Date.parse(since) : now - (ago ?? NaN);
  if (!Number.isNaN(time)) return time;
  throw new UsageError(`--since: ${JSON.stringify(since)} is neither a duration such as 30m or 1d nor a date`);
}

const stdin = 'stdin; pass a file with the output of sallyport serve, or set log.file in gateway.yaml';

/** How many lines of a finished file are aligned together. What is still being written is printed line by line. */
const BATCH = 1000;

async function printed(file: string, isWanted: Filter, options: LogOptions): Promise<ExitCode> {
  const summary = createSummary();
  const table = createTable(process.stdout);
  const batch: LoggedDecision[] = [];
  const batchSize = options.follow || file === '-' ? 1 : BATCH;
  let decisions = 0;
  const skipped = new SkippedLines();
  for await (const decision of decisionsIn(file, options.follow)) {
    if ('skipped' in decision) {
      skipped.add(decision);
      if (options.follow && decision.skipped !== 'no decision') reportSkipped(file, skipped);
      continue;
    }
    decisions += 1;
    if (!isWanted(decision)) continue;
    if (options.summary) summary.add(decision);
    else if (options.json) process.stdout.write(`${harmlessJson(JSON.stringify(decision.entry))}\n`);
    else if (batch.push(decision) >= batchSize) process.stdout.write(table.rows(batch.splice(0)));
  }
  process.stdout.write(table.rows(batch));
  reportSkipped(file, skipped);
  if (decisions === 0 && skipped.total > 0) {
    process.stderr.write(
      `sallyport: ${file}: none of its lines is a decision; the output of sallyport serve has one for each request\n`,
    );
    return 1;
  }
  if (decisions === 0) process.stderr.write(`sallyport: no decisions read from ${file === '-' ? stdin : file}\n`);
  if (options.summary) process.stdout.write(options.json ? summary.json() : summary.text());
  return 0;
}

function reportSkipped(file: string, { missing }: SkippedLines): void {
  if (missing !== '') process.stderr.write(`sallyport: ${file}: ${missing}\n`);
}
