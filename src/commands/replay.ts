import { historyKey } from '../policy-parts/history/key.ts';
import { besidePolicies } from '../capabilities/all.ts';
import { loadWithoutSecrets } from '../serve/config/load.ts';
import { policiesIn } from '../policy-files/policies.ts';
import { counted } from '../core/lib/wording.ts';
import type { Policy } from '../core/model/policy.ts';
import { countDifference, type CountedDifference, differenceOf, ReplayedCalls } from '../analysis/review/replay.ts';
import { isPolicyDecision } from '../analysis/review/recorded-decision.ts';
import { type LoggedDecision, LogReader, type SettledCall } from './decision-log.ts';
import type { OptionsOf } from './options.ts';
import { jsonText, type ExitCode, Failure, print, reportProblems } from '../capabilities/terminal.ts';

/**
 * `sallyport replay`: decides the calls of a log again with edited policies and the code that serves. Prints what would
 * change, and for which callers.
 */
export async function replay(log: string, options: OptionsOf<'replay'>): Promise<ExitCode> {
  const { config } = await loadWithoutSecrets(options.config);
  let edited: ReadonlyMap<string, Policy | undefined>;
  try {
    edited = options.policies === undefined ? config.policies : await policiesIn(options.policies, besidePolicies);
  } catch (error) {
    return reportProblems(options.config, error);
  }
  const routes = new Map(config.routes.map((route) => [route.name, route]));
  const rows = new Map<string, CountedDifference>();
  let decided = 0;
  let passedOver = 0;
  const reader = new LogReader();
  // Whether a call was refunded is known only later in the log.
  const isOverTime = [...edited.values()].some((policy) => policy && historyKey.inPolicy(policy));
  const records = isOverTime ? await allOf(reader.records(log)) : reader.records(log);
  const calls = Array.isArray(records) ? callsOf(records) : undefined;
  const parts = { scopeHierarchy: config.scopeHierarchy, judgeOverTime: calls?.judge };
  for await (const record of records) {
    if ('settled' in record) {
      calls?.refund(record.settled);
      continue;
    }
    const route = routes.get(record.route ?? '');
    if (route?.policy === undefined || !isPolicyDecision(record)) {
      passedOver += 1;
      continue;
    }
    decided += 1;
    const difference = differenceOf(record, route, edited.get(route.policy.name), parts);
    if (difference !== undefined) countDifference(rows, difference);
  }
  if (decided === 0) throw new Failure(`${log}: ${nothingDecided(passedOver, reader)}`);
  const changes = [...rows.values()].toSorted((one, other) => other.count - one.count);
  return print(
    options.json
      ? jsonText({ decided, passed_over: passedOver, ...countsOf(reader), changes }, 2)
      : report(changes, decided, passedOver, reader),
  );
}

async function allOf<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function countsOf(skipped: LogReader): Readonly<Record<string, number>> {
  return {
    skipped_lines: skipped.of('no decision'),
    unreadable_decisions: skipped.of('unreadable'),
    too_long_lines: skipped.of('too long'),
  };
}

function callsOf(records: readonly (LoggedDecision | SettledCall)[]): ReplayedCalls {
  const first = records.find((each) => 'at' in each);
  const returned = records.flatMap((each) => ('settled' in each ? [each.settled] : []));
  return new ReplayedCalls(first?.at ?? NaN, new Set(returned));
}

function nothingDecided(passedOver: number, skipped: LogReader): string {
  if (passedOver > 0) {
    const found = `none of its ${counted(passedOver, 'decision')} was made by a policy of a route`;
    return `${found} of this configuration; pass the configuration that wrote it as --config`;
  }
  const lines = skipped.of('no decision');
  const found =
    skipped.missing || (lines === 0 ? 'it is empty' : `none of its ${counted(lines, 'line')} is a decision`);
  const wanted = 'pass the decision log, which `sallyport serve` writes to stdout as JSON lines with "msg":"decision"';
  return `${found}; ${wanted}`;
}

function report(
  changes: readonly CountedDifference[],
  decided: number,
  passedOver: number,
  skipped: LogReader,
): string {
  const skippedLines = skipped.of('no decision');
  const callers = new Set(changes.map(({ subject }) => subject)).size;
  const total = changes.reduce((sum, row) => sum + row.count, 0);
  const summary =
    changes.length === 0
      ? `${decided} decisions, none would change`
      : `${decided} decisions, ${total} would change or cannot be decided, for ${counted(callers, 'caller')}`;
  const others = [
    ...(passedOver === 0 ? [] : [`${passedOver} more were not decided by a policy`]),
    ...(skippedLines === 0 ? [] : [`skipped ${counted(skippedLines, 'line')} without a decision`]),
    ...(skipped.missing === '' ? [] : [skipped.missing]),
  ];
  const other = others.length === 0 ? '' : ` (${others.join('; ')})`;
  const lines = changes.map(
    ({ count: times, change, route, called, subject, before, after }) =>
      `${String(times).padStart(7)}  ${change.padEnd(25)}  ${route}  ${called}  ${subject}: ${before} → ${after}\n`,
  );
  return `${lines.join('')}${lines.length > 0 ? '\n' : ''}${summary}${other}\n`;
}
