import { existsSync } from 'node:fs';
import type { WriteStream } from 'node:tty';
import { verifyLog } from '../capabilities/all.ts';
import { loadWithoutSecrets } from '../serve/config/load.ts';
import { InvalidValue, network } from '../core/config/values.ts';
import { createIsWithin, type IsWithin } from '../core/lib/ip-address.ts';
import { durationMs } from '../core/lib/quantity.ts';
import { printable } from '../core/lib/wording.ts';
import { calledIn, type DecisionRecord } from '../core/model/decision.ts';
import {
  type FilteredList,
  type LoggedDecision,
  LogReader,
  merged,
  type RequestFailure,
  timeOf,
} from './decision-log.ts';
import type { OptionsOf } from './options.ts';
import { jsonText, print, coloured, type ExitCode, Failure, UsageError } from '../capabilities/terminal.ts';
import { ensure } from '../core/lib/remembered.ts';

type LogOptions = OptionsOf<'log'>;

/**
 * `sallyport log`: prints the decisions of a log, or their counts.
 *
 * @param named Files; `-` for stdin; empty: `log.file` of the configuration, or else stdin.
 * @throws {UsageError} for options that contradict each other, and without a log.
 */
export async function log(named: readonly string[], options: LogOptions): Promise<ExitCode> {
  if (options.verify) return verified(named, options);
  if (options.keys !== undefined) throw new UsageError('--keys applies only with --verify');
  if (options.denied && options.failed) throw new UsageError('--failed shows allowed calls: omit --denied');
  if (options.summary && options.follow) throw new UsageError('--summary needs the end of the log: omit --follow');
  if (options.follow && named.length > 1) throw new UsageError('--follow reads one FILE, since several are merged');
  const isWanted = filterOf(options, Date.now());
  const files = named.length > 0 ? named : [await configuredFile(options.config)];
  if (named.length === 0 && files[0] === '-' && process.stdin.isTTY) {
    throw new UsageError(`FILE is missing: pass the output of serve, or set log.file in ${options.config}`);
  }
  return printed(files, isWanted, options);
}

/** @throws {UsageError} without a file, and without keys. */
async function verified(named: readonly string[], { keys, config }: LogOptions): Promise<ExitCode> {
  const files = named.length > 0 ? named : [await configuredFile(config)];
  if (files.includes('-')) throw new UsageError(`--verify needs FILE: pass the files, or set log.file in ${config}`);
  if (verifyLog === undefined) throw new UsageError('--verify: nothing links lines');
  return verifyLog(files, keys);
}

async function configuredFile(config: string): Promise<string> {
  if (!existsSync(config)) return '-';
  return (await loadWithoutSecrets(config)).config.log.file ?? '-';
}

type Filter = (decision: LoggedDecision) => boolean;

/** @throws {UsageError} for a value that no decision can have. */
function filterOf(options: LogOptions, now: number): Filter {
  const { route, subject, client, tool, path, reason, denied } = options;
  const start = timeIn('since', options.since, now);
  const end = timeIn('until', options.until, now);
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

function timeIn(option: string, text: string | undefined, now: number): number | undefined {
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

/** The lines of a finished file that are aligned together. What is still being written is printed line by line. */
const BATCH = 1000;

async function printed(files: readonly string[], isWanted: Filter, options: LogOptions): Promise<ExitCode> {
  const summary = new Summary();
  const table = new Table(process.stdout);
  const batch: Row[] = [];
  const recent = new Map<string, LoggedDecision>();
  const listing = new Map<string, LoggedDecision>();
  const showsLists = !(
    options.summary ||
    options.json ||
    options.denied ||
    options.failed ||
    options.reason !== undefined
  );
  const batchSize = options.follow || files.includes('-') ? 1 : BATCH;
  let decisions = 0;
  const show = (row: Row): void => {
    if (batch.push(row) >= batchSize) process.stdout.write(table.rows(batch.splice(0)));
  };
  const showFailure = (failure: RequestFailure): void => {
    const decision = recent.get(failure.failed);
    if (decision === undefined || !isWanted({ ...decision, reason: failure.reason })) return;
    if (options.summary) summary.failed += 1;
    else if (!options.json) show({ ...decision, failure });
    else if (options.failed) {
      const { reason, detail } = failure;
      print(jsonText({ ...decision.entry, failure: { reason, detail } }));
    }
  };
  const showList = (list: FilteredList): void => {
    const decision = listing.get(list.listed);
    if (showsLists && decision !== undefined && isWanted(decision)) show({ ...decision, list });
  };
  const readers = files.map((file) => {
    const reader: LogReader = new LogReader((why) => {
      if (options.follow && why !== 'no decision') reportSkipped(file, reader);
    });
    return { file, reader };
  });
  const logs = readers.map(({ file, reader }) => reader.events(file, options.follow));
  let others = 0;
  for await (const event of merged(logs)) {
    if (!('entry' in event)) {
      others += 1;
      if ('failed' in event) showFailure(event);
      else if ('listed' in event) showList(event);
      continue;
    }
    const decision = event;
    decisions += 1;
    if (decision.allow && decision.requestId !== undefined) remember(recent, decision.requestId, decision);
    if (showsLists && decision.allow && decision.id !== undefined) remember(listing, decision.id, decision);
    if (options.failed || !isWanted(decision)) continue;
    if (options.summary) summary.add(decision);
    else if (options.json) print(jsonText(decision.entry));
    else show(decision);
  }
  process.stdout.write(table.rows(batch));
  for (const { file, reader } of readers) reportSkipped(file, reader);
  if (decisions === 0 && others + readers.reduce((sum, { reader }) => sum + reader.total, 0) > 0) {
    throw new Failure(
      `${files.join(', ')}: none of its lines is a decision; the output of sallyport serve has one for each request`,
    );
  }
  if (decisions === 0)
    process.stderr.write(
      `sallyport: no decisions read from ${files.map((file) => (file === '-' ? stdin : file)).join(', ')}\n`,
    );
  if (options.summary) process.stdout.write(options.json ? summary.json() : summary.text());
  return 0;
}

/** A decision, and how the call failed after it was allowed, or what its answer lacks. */
type Row = LoggedDecision & { readonly failure?: RequestFailure; readonly list?: FilteredList };

/** The most decisions for which a failure or a list may still come. */
const MAX_RECENT = 10_000;

function remember(recent: Map<string, LoggedDecision>, id: string, decision: LoggedDecision): void {
  recent.set(id, decision);
  const [oldest] = recent.keys();
  if (recent.size > MAX_RECENT && oldest !== undefined) recent.delete(oldest);
}

function reportSkipped(file: string, { missing }: LogReader): void {
  if (missing !== '') process.stderr.write(`sallyport: ${file}: ${missing}\n`);
}

const titles = ['time (UTC)', 'decision', 'subject', 'client', 'route', 'called', 'address'] as const;
/** The widths for 117 columns. The first two do not grow: a time, and the longest usual reason. */
const widths = [14, 20, 16, 12, 12, 16, 15] as const;
const FIXED = 2;
const GAP = '  ';
const USUAL_COLUMNS = 117;
/** Narrower columns say nothing. */
const MIN_WIDTH = 8;

/**
 * Decisions as a table for people. On a terminal, a value that is too long for its column is cut; in a file or a pipe
 * it is whole, and its column stays as wide. The callers chose some of the values: characters that a terminal obeys are
 * replaced.
 */
class Table {
  readonly #output: Pick<WriteStream, 'isTTY' | 'columns'>;
  #widths: readonly number[];
  #hasTitles = false;

  constructor(output: Pick<WriteStream, 'isTTY' | 'columns'>) {
    this.#output = output;
    this.#widths = widthsFor(output.isTTY ? output.columns : USUAL_COLUMNS);
  }

  /** A line for each decision, all aligned. A refusal has a second line, with its id and its whole detail. */
  rows(decisions: readonly Row[]): string {
    if (decisions.length === 0) return '';
    const rows = decisions.map((decision) => ({ decision, cells: cellsOf(decision) }));
    if (!this.#output.isTTY) {
      this.#widths = this.#widths.map((width, index) =>
        Math.max(width, ...rows.map(({ cells }) => cells[index]?.length ?? 0)),
      );
    }
    const head = this.#hasTitles ? '' : this.#line(titles);
    this.#hasTitles = true;
    const lines = rows.map(
      ({ decision, cells }) => this.#line(cells, (padded) => coloured(colourOf(decision), padded)) + refusal(decision),
    );
    return head + lines.join('');
  }

  #line(cells: readonly string[], decorate = (padded: string) => padded): string {
    const padded = cells.map((cell, index) => {
      const width = this.#widths[index] ?? 0;
      return (this.#output.isTTY ? cut(cell, width) : cell).padEnd(width);
    });
    return `${padded
      .with(1, decorate(padded[1] ?? ''))
      .join(GAP)
      .trimEnd()}\n`;
  }
}

function cellsOf(decision: Row): readonly string[] {
  const { clientId, route, address, actors = [], inner = [] } = decision;
  const client = actors.length === 0 ? clientId : `${clientId ?? ''} (${actors.join(' < ')})`.trim();
  const cells = [
    timeOf(decision).slice(5, 19).replace('T', ' '),
    verdict(decision),
    namesOf(decision).join(' '),
    client,
    route,
    inner.length === 0 ? calledIn(decision) : `${calledIn(decision)} (${inner.join(', ')})`,
    address,
  ];
  return cells.map((cell) => printable(cell ?? ''));
}

function namesOf({ subject, claims = {} }: DecisionRecord): readonly string[] {
  return [subject, ...Object.values(claims).map(String)].filter((each) => each !== undefined);
}

function refusal({ allow, shadow, id, failure, list, detail = failure?.detail ?? '' }: Row): string {
  if (list !== undefined) return indented(`${id}${GAP}${withheldIn(list)}`);
  if (allow && !shadow && failure === undefined) return '';
  return indented(`${id}${GAP}${detail}`);
}

function indented(text: string): string {
  return `${' '.repeat(widths[0])}${GAP}${printable(text).trim()}\n`;
}

function withheldIn({ shown, withheld, more, by }: FilteredList): string {
  const others = more === 0 ? '' : ` and ${more} more`;
  return `${shown} shown; withheld by ${by.join(', ')}: ${withheld.join(', ')}${others}`;
}

function colourOf({ allow, shadow, failure, list }: Row): 'warning' | 'good' | 'bad' {
  if (list !== undefined) return 'warning';
  if (failure !== undefined) return 'bad';
  if (shadow) return 'warning';
  return allow ? 'good' : 'bad';
}

function verdict({ allow, shadow, failure, list, reason = '' }: Row): string {
  if (list !== undefined) return `withheld ${list.withheld.length + list.more}`;
  if (failure !== undefined) return `failed ${failure.reason}`;
  if (shadow) return `shadow ${reason}`;
  return allow ? 'allow' : reason;
}

function widthsFor(columns: number): readonly number[] {
  const fixed = widths.slice(0, FIXED).reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
  const shares = USUAL_COLUMNS - fixed;
  return widths.map((width, index) =>
    index < FIXED ? width : Math.max(MIN_WIDTH, Math.floor(((columns - fixed) * width) / shares)),
  );
}

/** Characters as people count them, so that none is cut in two. */
const segmenter = new Intl.Segmenter();

function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  return characters.length > width ? `${characters.slice(0, width - 1).join('')}…` : text;
}

interface Count {
  allowed: number;
  denied: number;
}

const SHOWN = 20;

/** Counts by tool, subject and reason. A denial in shadow mode counts as allowed, and has a reason. */
class Summary {
  readonly #total: Count = { allowed: 0, denied: 0 };
  readonly #kinds = {
    tool: new Map<string, Count>(),
    subject: new Map<string, Count>(),
    reason: new Map<string, Count>(),
  };
  /** Calls that were allowed, and then failed. */
  failed = 0;
  #from = '';
  #to = '';

  add(decision: DecisionRecord): void {
    const { allow, reason, subject } = decision;
    this.#to = timeOf(decision);
    if (this.#from === '') this.#from = this.#to;
    count(this.#total, allow);
    countNamed(this.#kinds.tool, calledIn(decision), allow);
    countNamed(this.#kinds.subject, subject ?? '(none)', allow);
    if (reason !== undefined) countNamed(this.#kinds.reason, reason, allow);
  }

  /** The most frequent names, for people. */
  text(): string {
    const period = this.#from === '' ? '' : `, ${printable(this.#from)} to ${printable(this.#to)}`;
    const failed = this.failed === 0 ? '' : ` (${this.failed} failed afterwards)`;
    const head = `${this.#total.allowed} allowed${failed}, ${this.#total.denied} denied${period}\n`;
    return (
      head +
      Object.entries(this.#kinds)
        .map(([kind, names]) => section(kind, ranked(names)))
        .join('')
    );
  }

  /** All names, for programs. */
  json(): string {
    const lists = Object.entries(this.#kinds).map(([kind, names]) => [
      `${kind}s`,
      ranked(names).map(([name, { allowed, denied }]) => ({ name, allowed, denied })),
    ]);
    const members = {
      ...this.#total,
      failed: this.failed,
      from: this.#from,
      to: this.#to,
      ...Object.fromEntries(lists),
    };
    return jsonText(members, 2);
  }
}

function count(counts: Count, allow: boolean): void {
  counts[allow ? 'allowed' : 'denied'] += 1;
}

function countNamed(names: Map<string, Count>, name: string, allow: boolean): void {
  count(
    ensure(names, name, () => ({ allowed: 0, denied: 0 })),
    allow,
  );
}

function ranked(names: ReadonlyMap<string, Count>): readonly (readonly [string, Count])[] {
  const sum = ({ allowed, denied }: Count): number => allowed + denied;
  return [...names].toSorted(([, one], [, other]) => sum(other) - sum(one));
}

function section(kind: string, names: readonly (readonly [string, Count])[]): string {
  if (names.length === 0) return '';
  const more = names.length > SHOWN ? `  … and ${names.length - SHOWN} more\n` : '';
  const rows = names
    .slice(0, SHOWN)
    .map(([name, { allowed, denied }]) => `${cell(allowed)}${cell(denied)}  ${printable(name)}\n`);
  return `\n${'allowed'.padStart(9)}${'denied'.padStart(9)}  ${kind}\n${rows.join('')}${more}`;
}

function cell(number: number): string {
  return String(number).padStart(9);
}
