import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { load } from '../config/load.ts';
import { historyIn } from '../config/policy-tests.ts';
import { ConfigError } from '../config/problems.ts';
import { didYouMean } from '../lib/wording.ts';
import { callerOf } from '../serve/gateway/caller.ts';
import type { Config } from '../model/config.ts';
import type { DecisionRecord } from '../model/decision.ts';
import { Denial } from '../model/denial.ts';
import type { EarlierCall } from '../model/history.ts';
import type { Principal } from '../model/principal.ts';
import { withSignInAge } from '../pipeline/authorize/authorize.ts';
import type { Route } from '../model/route.ts';
import { coloured } from './colour.ts';
import { type Explained, explainCall, explainRecord } from '../review/explained.ts';
import { decisionsIn, SkippedLines } from './decision-log.ts';
import { describedCall, type DescribedCall } from './described-call.ts';
import { type ExitCode, reportProblems, reportUnreadable, UsageError } from './exit.ts';
import { explanationJson, explanationTable } from './explanation-table.ts';

/** The options of `sallyport explain`. */
export interface ExplainOptions extends DescribedCall {
  readonly config: string;
  readonly json: boolean;
  readonly route: string | undefined;
  /** An access token; `-` reads it from stdin, so that no list of processes shows it. */
  readonly token: string | undefined;
  /** The id of a logged decision or of its request; needs `log`. */
  readonly decision: string | undefined;
  readonly log: string | undefined;
  /** A file with the calls before, as `given: { history: … }` of a test; undefined: they are unknown. */
  readonly history: string | undefined;
}

/**
 * `sallyport explain`: shows the decision on a call, and every condition with what it found, by the code that serves.
 *
 * @throws {UsageError} for options that do not describe a call.
 */
export async function explain(options: ExplainOptions): Promise<ExitCode> {
  let config: Config;
  try {
    ({ config } = await load(options.config));
  } catch (error) {
    return reportProblems(options.config, error);
  }
  try {
    const found = await explained(config, options);
    process.stdout.write(options.json ? explanationJson(found) : explanationTable(found));
    return 0;
  } catch (error) {
    if (error instanceof ConfigError) return reportProblems(options.history ?? '', error);
    const { decision, log = '', history = '' } = options;
    if (!(error instanceof Denial)) return reportUnreadable(decision === undefined ? history : log, error);
    const { reason, detail } = error;
    process.stdout.write(
      options.json
        ? `${JSON.stringify({ allow: false, reason, detail }, null, 2)}\n`
        : `${coloured('bad', 'deny')} ${reason}: ${detail}\n`,
    );
    return 0;
  }
}

async function explained(config: Config, options: ExplainOptions): Promise<Explained> {
  if (options.decision !== undefined) {
    if (options.log === undefined) throw new UsageError('--decision needs --log FILE, the log that has it');
    return explainDecision(config, options.decision, options.log);
  }
  const route = routeNamed(config, options.route);
  const { attempt, principal } = describedCall(route, config, options);
  const earlier = options.history === undefined ? undefined : await earlierCalls(options.history);
  const caller = options.token === undefined ? principal : await tokenPrincipal(route, config, options.token);
  // As at a decision; a described caller may say `authenticated_ago` itself.
  const isDated = caller.claims['auth_time'] !== undefined || options.token !== undefined;
  return explainCall(route, isDated ? withSignInAge(caller, Date.now) : caller, attempt, earlier);
}

/** @throws {ConfigError} with every problem of the file. */
async function earlierCalls(file: string): Promise<readonly EarlierCall[]> {
  const { history, problems } = historyIn(file, await readFile(file, 'utf8'));
  if (problems.length > 0) throw new ConfigError(problems, []);
  return history;
}

/** The route of this name; without a name, the only one. */
function routeNamed(config: Config, name: string | undefined): Route {
  const [only, ...others] = config.routes;
  if (name === undefined && only !== undefined && others.length === 0) return only;
  const names = config.routes.map((route) => route.name).join(', ');
  if (name === undefined) throw new UsageError(`--route is missing; there are: ${names}`);
  const route = config.routes.find((each) => each.name === name);
  if (route !== undefined) return route;
  const near = didYouMean(
    name,
    config.routes.map((each) => each.name),
  );
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
  throw new UsageError(`there is no route ${JSON.stringify(name)}${hint}; there are: ${names}`);
}

/**
 * Explains a logged decision: the decision and its reason as the log has them. If a policy decided, it also evaluates
 * each condition of the current policy with the values in the log.
 *
 * @param id The id of the decision, or of its request.
 * @param log A file, or `-` for stdin.
 * @throws {UsageError} for an id that the log does not have, or that several decisions have: a client may send
 *   `X-Request-Id` twice, and the first decision may differ from the others.
 */
export async function explainDecision(config: Config, id: string, log: string): Promise<Explained> {
  const found: DecisionRecord[] = [];
  const skipped = new SkippedLines();
  for await (const record of decisionsIn(log)) {
    if ('skipped' in record) skipped.add(record);
    else if (record.id === id) return explainRecord(config, record);
    else if (record.requestId === id) found.push(record);
  }
  const [only, ...others] = found;
  if (only === undefined) {
    const missing = skipped.missing === '' ? '' : `; ${skipped.missing}`;
    throw new UsageError(`${log} has neither a decision nor a request ${id}${missing}`);
  }
  if (others.length === 0) return explainRecord(config, only);
  const ids = found.map((record) => record.id).join(', ');
  throw new UsageError(`${log} has ${found.length} decisions of the request ${id}; pass one of them: ${ids}`);
}

/**
 * The principal of a token, by the validation that serves requests.
 *
 * @param token `-` reads it from stdin, so that no list of processes and no shell history has it.
 * @throws {Denial} as the route would refuse it.
 */
async function tokenPrincipal(route: Route, config: Config, token: string): Promise<Principal> {
  if (route.public) throw new UsageError(`${route.name} is public: it reads no token`);
  return callerOf((token === '-' ? await text(process.stdin) : token).trim(), route, config);
}
