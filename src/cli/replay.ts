import { isDeepStrictEqual } from 'node:util';
import { disk } from '../config/files.ts';
import { load, type Loaded } from '../config/load.ts';
import { readPolicies } from '../config/policies.ts';
import { ConfigError, Problem } from '../config/problems.ts';
import { printable } from '../config/wording.ts';
import type { Config } from '../model/config.ts';
import type { Attempt, Decision, Policy } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import {
  decisionsIn,
  isPolicyDecision,
  recordedAttempt,
  type RecordedDecision,
  recordedPrincipal,
} from './decision-log.ts';
import { type ExitCode, reportProblems } from './exit.ts';
import { calledIn } from './log-table.ts';

/** The options of `sallyport replay`. */
export interface ReplayOptions {
  readonly config: string;
  /** The edited policies; undefined: those of the configuration. */
  readonly policies: string | undefined;
  readonly json: boolean;
}

/**
 * `sallyport replay`: decides the calls of a log again with edited policies and the code that serves. Prints what would
 * change, and for which callers.
 */
export async function replay(log: string, options: ReplayOptions): Promise<ExitCode> {
  let loaded: Loaded;
  let edited: ReadonlyMap<string, Policy | undefined>;
  try {
    loaded = await load(options.config);
    edited = options.policies === undefined ? loaded.config.policies : await policiesIn(options.policies);
  } catch (error) {
    return reportProblems(options.config, error);
  }
  const routes = new Map(loaded.config.routes.map((route) => [route.name, route]));
  const rows = new Map<string, Row>();
  let decided = 0;
  let passedOver = 0;
  let skippedLines = 0;
  try {
    for await (const record of decisionsIn(log)) {
      if (record === undefined) {
        skippedLines += 1;
        continue;
      }
      const route = routes.get(record.route);
      if (route?.policy === undefined || !isPolicyDecision(record)) {
        passedOver += 1;
        continue;
      }
      decided += 1;
      const difference = differenceOf(record, route, edited.get(route.policy.name), loaded.config.scopeHierarchy);
      if (difference !== undefined) count(rows, difference);
    }
  } catch (error) {
    process.stderr.write(`sallyport: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
  if (decided === 0) {
    process.stderr.write(`sallyport: ${log}: ${nothingDecided(passedOver, skippedLines)}\n`);
    return 1;
  }
  const changes = [...rows.values()].toSorted((one, other) => other.count - one.count);
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ decided, passed_over: passedOver, skipped_lines: skippedLines, changes }, null, 2)}\n`
      : report(changes, decided, passedOver, skippedLines),
  );
  return 0;
}

/** @throws {ConfigError} with every problem of the policies. */
async function policiesIn(folder: string): Promise<ReadonlyMap<string, Policy | undefined>> {
  const { exists, policies, problems } = await readPolicies(folder, folder, disk);
  if (!exists) throw new ConfigError([new Problem(folder, undefined, [], 'is not a folder')], []);
  if (problems.length > 0) throw new ConfigError(problems, []);
  return policies;
}

function count(rows: Map<string, Row>, difference: Difference): void {
  const key = JSON.stringify(Object.values(difference));
  const known = rows.get(key);
  if (known === undefined) rows.set(key, { ...difference, count: 1 });
  else known.count += 1;
}

/** Why a log has no decision to decide again, and which log to pass instead. */
function nothingDecided(passedOver: number, skippedLines: number): string {
  if (passedOver > 0) {
    const found = `none of its ${counted(passedOver, 'decision')} was made by a policy of a route`;
    return `${found} of this configuration; pass the configuration that wrote it as --config`;
  }
  const found = skippedLines === 0 ? 'it is empty' : `none of its ${counted(skippedLines, 'line')} is a decision`;
  const wanted = 'pass the decision log, which `sallyport serve` writes to stdout as JSON lines with "msg":"decision"';
  return `${found}; ${wanted}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function report(changes: readonly Row[], decided: number, passedOver: number, skippedLines: number): string {
  const callers = new Set(changes.map(({ subject }) => subject)).size;
  const total = changes.reduce((sum, row) => sum + row.count, 0);
  const summary =
    changes.length === 0
      ? `${decided} decisions, none would change`
      : `${decided} decisions, ${total} would change or cannot be decided, for ${counted(callers, 'caller')}`;
  const others = [
    ...(passedOver === 0 ? [] : [`${passedOver} more were not decided by a policy`]),
    ...(skippedLines === 0 ? [] : [`skipped ${counted(skippedLines, 'line')} without a decision`]),
  ];
  const other = others.length === 0 ? '' : ` (${others.join('; ')})`;
  const lines = changes.map(
    ({ count: times, change, route, called, subject, before, after }) =>
      `${String(times).padStart(7)}  ${change.padEnd(25)}  ${route}  ${called}  ${subject}: ${before} → ${after}\n`,
  );
  return `${lines.join('')}${lines.length > 0 ? '\n' : ''}${summary}${other}\n`;
}

/** How a decision would change. `unknown`: it depends on values that are not logged. */
type Change = 'would be denied' | 'would be allowed' | 'would get another answer' | 'unknown';

/** A decision that would change, in words. */
interface Difference {
  readonly change: Change;
  readonly route: string;
  /** The tool, or what else was called. */
  readonly called: string;
  readonly subject: string;
  readonly before: string;
  readonly after: string;
}

/** A difference, and the number of decisions that have it. */
type Row = Difference & { count: number };

/** How the decision of `policy` differs from the recorded one on `route`; undefined if it does not. */
function differenceOf(
  record: RecordedDecision,
  route: Route,
  policy: Policy | undefined,
  hierarchy: Config['scopeHierarchy'],
): Difference | undefined {
  const before = outcome(kindOf(record.allow, record.shadow), record.reason, record.neededScope);
  const base = {
    route: record.route,
    called: printable(calledIn(record)),
    subject: printable(record.subject ?? record.clientId ?? ''),
    before,
  };
  if (policy === undefined) return { ...base, change: 'unknown', after: 'the policy is gone' };
  const principal = recordedPrincipal(record, hierarchy);
  const attempt = recordedAttempt(record, route);
  const decision = policy.decide(principal, attempt);
  const unknown = whatIsMissing(record, decision, argumentsChanged(policy, route.policy, principal, attempt));
  if (unknown !== undefined) return { ...base, change: 'unknown', after: unknown };
  // The conditions on arguments are the same, so that the logged arguments would be denied again.
  const after = !record.allow && record.reason === 'argument.denied' && decision.allow ? before : outcomeOf(decision);
  return after === before ? undefined : { ...base, change: changeOf(before, after), after };
}

/** The values that the log lacks. They matter only if all other conditions would allow the call. */
function whatIsMissing(
  { input: { omitted = [] } }: RecordedDecision,
  decision: Decision,
  argumentsMatter: boolean,
): string | undefined {
  if (omitted.length > 0) return `depends on a claim that is too long for the log: ${omitted.join(', ')}`;
  return decision.allow && argumentsMatter ? 'depends on arguments, which are not logged' : undefined;
}

function argumentsChanged(policy: Policy, before: Policy | undefined, principal: Principal, attempt: Attempt): boolean {
  const asked = (of: Policy | undefined): readonly unknown[] =>
    (of?.explain(principal, attempt) ?? [])
      .flatMap(({ parts }) => parts)
      .filter(({ kind }) => kind === 'argument')
      .map(({ rule, wanted }) => [rule, wanted]);
  return !isDeepStrictEqual(asked(policy), asked(before));
}

function outcomeOf(decision: Decision): string {
  const denial = decision.allow ? decision.shadow : decision.denial;
  const kind = kindOf(decision.allow, decision.allow && decision.shadow !== undefined);
  return outcome(kind, denial?.reason, denial?.scope.join(' '));
}

type Kind = 'allow' | 'shadow deny' | 'deny';

function kindOf(allow: boolean, shadow: boolean): Kind {
  if (!allow) return 'deny';
  return shadow ? 'shadow deny' : 'allow';
}

function outcome(kind: Kind, reason: string | undefined, scope: string | undefined): string {
  if (kind === 'allow') return kind;
  return `${kind} ${reason ?? ''}${scope === undefined || scope === '' ? '' : ` (${scope})`}`;
}

function changeOf(before: string, after: string): Change {
  const [passed, passes] = [before, after].map((each) => !each.startsWith('deny'));
  if (passed === passes) return 'would get another answer';
  return passes === true ? 'would be allowed' : 'would be denied';
}
