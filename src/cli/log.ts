import { existsSync } from 'node:fs';
import { load } from '../config/load.ts';
import { network } from '../config/addresses.ts';
import { InvalidValue } from '../config/values.ts';
import { createIsWithin, type IsWithin } from '../lib/ip-address.ts';
import { durationMs } from '../lib/quantity.ts';
import { calledIn } from '../model/decision.ts';
import { harmlessJson } from '../telemetry/json-lines.ts';
import { decisionsIn, type LoggedDecision, SkippedLines } from './decision-log.ts';
import { type ExitCode, reportProblems, reportUnreadable, UsageError } from './exit.ts';
import { createTable, namesOf } from './log-table.ts';
import { createSummary } from './log-summary.ts';

/** The options of `sallyport log`: a filter is a text, undefined for all. */
export interface LogOptions {
  readonly config: string;
  /** A duration until now, a time of day, or a date. */
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly route: string | undefined;
  /** A subject, or the value of a claim that the log has of the caller. */
  readonly subject: string | undefined;
  /** An address or a network. */
  readonly address: string | undefined;
  /** A path; paths below it pass too. */
  readonly path: string | undefined;
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

/** @throws {UsageError} for a value that no decision can have. */
function filterOf(options: LogOptions, now: number): Filter {
  const { route, subject, client, tool, path, reason, denied } = options;
  const start = timeOf('since', options.since, now);
  const end = timeOf('until', options.until, now);
  if (start !== undefined && end !== undefined && start >= end) {
    throw new UsageError(
      `--until is not after --since: ${new Date(end).toISOString()}, ${new Date(start).toISOString()}`,
    );
  }
  if (path !== undefined && !/^\/[^?]*$/.test(path)) {
    throw new UsageError(`--path: ${JSON.stringify(path)} is not a path: begin with /, and omit the query`);
  }
  const isFrom = withinOf(options.address);
  return (decision) =>
    (start === undefined || decision.at >= start) &&
    (end === undefined || decision.at < end) &&
    (route ?? decision.route) === decision.route &&
    (subject === undefined || namesOf(decision).includes(subject)) &&
    (client ?? decision.clientId) === decision.clientId &&
    (tool === undefined || tool === calledIn(decision) || tool === decision.method) &&
    (path === undefined || isBelow(decision.path, path)) &&
    isFrom(decision.address ?? '') &&
    (reason === undefined || `${decision.reason}.`.startsWith(`${reason}.`)) &&
    (!denied || !decision.allow || decision.shadow);
}

function isBelow(path: string | undefined, top: string): boolean {
  return path === top || path?.startsWith(top.endsWith('/') ? top : `${top}/`) === true;
}

function withinOf(address: string | undefined): IsWithin {
  if (address === undefined) return () => true;
  try {
    return createIsWithin([network(address)]);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    throw new UsageError(`--address: ${JSON.stringify(address)} ${error.message}`);
  }
}

const DAY_MS = 24 * 3_600_000;
/** A time of day, and a date with or without one; as in the log, UTC unless the text names another offset. */
const dayTime = /^([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?$/;
const dateTime = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Milliseconds since the epoch.
 *
 * @throws {UsageError} for a text that is no time.
 */
function timeOf(option: string, text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const ago = durationMs(text);
  if (ago !== undefined) return now - ago;
  if (dayTime.test(text)) {
    const today = Date.parse(`${new Date(now).toISOString().slice(0, 10)}T${text}Z`);
    return today > now ? today - DAY_MS : today;
  }
  const [, date, time = '00:00', offset = 'Z'] = dateTime.exec(text) ?? [];
  const at = Date.parse(`${date}T${time}${offset}`);
  if (!Number.isNaN(at)) return at;
  const accepted = 'a duration such as 30m or 1d, a time of day such as 22:27, or a date such as 2026-01-31T22:27';
  throw new UsageError(`--${option}: ${JSON.stringify(text)} is not a time: write ${accepted} (UTC)`);
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
