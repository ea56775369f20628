import { load } from '../config/load.ts';
import type { Config } from '../model/config.ts';
import { Denial } from '../model/denial.ts';
import type { Attempt, Decision } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { described, type DescribedCall } from './described-call.ts';
import type { ExitCode } from './exit-code.ts';
import { explainDecision, hasUnknown } from './explain-decision.ts';
import { explanationJson, explanationTable, type Explained } from './explanation-table.ts';
import { reportProblems } from './report-problems.ts';
import { tokenPrincipal } from './token-principal.ts';
import { UsageError } from './usage-error.ts';

/** What `sallyport explain` was asked for. */
export interface ExplainOptions extends DescribedCall {
  readonly config: string;
  readonly json: boolean;
  readonly route: string | undefined;
  /** An access token; `-`: on stdin, where nobody sees it in a list of processes. */
  readonly token: string | undefined;
  /** The id of a decision or of its request, and the log that has it. */
  readonly decision: string | undefined;
  readonly log: string | undefined;
}

/**
 * `sallyport explain`: the decision on a call and every condition with what it found, by the code that serves.
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
    // The log that cannot be read.
    if (error instanceof Error && 'syscall' in error) {
      process.stderr.write(`sallyport: ${error.message}\n`);
      return 1;
    }
    if (!(error instanceof Denial)) throw error;
    const { reason, detail } = error;
    process.stdout.write(
      options.json ? `${JSON.stringify({ allow: false, reason, detail }, null, 2)}\n` : `deny ${reason}: ${detail}\n`,
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
  const { attempt, principal } = described(route, config, options);
  if (options.token === undefined) return ofCall(route, principal, attempt);
  return ofCall(route, await tokenPrincipal(route, config, options.token), attempt);
}

function routeNamed(config: Config, name: string | undefined): Route {
  const names = config.routes.map((route) => route.name).join(', ');
  if (name === undefined) throw new UsageError(`--route is missing; there are: ${names}`);
  const route = config.routes.find((each) => each.name === name);
  if (route === undefined) throw new UsageError(`there is no route ${JSON.stringify(name)}; there are: ${names}`);
  return route;
}

function ofCall(route: Route, principal: Principal, attempt: Attempt): Explained {
  const { policy } = route;
  const decision: Decision = policy?.decide(principal, attempt) ?? { allow: true, rule: '' };
  const conditions = policy?.explain(principal, attempt) ?? [];
  const denial = decision.allow ? decision.shadow : decision.denial;
  return {
    route: route.name,
    decidedBy: policy === undefined ? 'no policy: any valid token' : `policy ${policy.name}`,
    policy: policy?.name,
    allow: decision.allow,
    shadow: decision.allow && denial !== undefined,
    reason: denial?.reason,
    detail: denial?.detail,
    rule: denial?.rule ?? decision.rule,
    neededScope: denial?.scope ?? [],
    notes: hasUnknown(conditions) ? ['without --arguments, what the policy asks of them is unknown'] : [],
    conditions,
  };
}
