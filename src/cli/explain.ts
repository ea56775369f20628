import { load } from '../config/load.ts';
import type { Config } from '../model/config.ts';
import { Denial } from '../model/denial.ts';
import type { Attempt } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { decisionsIn, recordedAttempt, recordedPrincipal } from './decision-log.ts';
import { described, type DescribedCall } from './described-call.ts';
import { UsageError } from './usage-error.ts';
import type { ExitCode } from './exit-code.ts';
import { explanationTable } from './explanation-table.ts';
import { reportProblems } from './report-problems.ts';
import { tokenPrincipal } from './token-principal.ts';

/** What `sallyport explain` was asked for. */
export interface ExplainOptions extends DescribedCall {
  readonly config: string;
  readonly json: boolean;
  readonly route: string | undefined;
  /** An access token; `-`: on stdin, where nobody sees it in a list of processes. */
  readonly token: string | undefined;
  /** The id of a decision, and the log that has it. */
  readonly decision: string | undefined;
  readonly log: string | undefined;
}

/** A call on a route. */
interface Asked {
  readonly route: Route;
  readonly principal: Principal;
  readonly attempt: Attempt;
}

/**
 * `sallyport explain`, contract §4: the decision on a call and every condition with what it found, by the code that serves.
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
    const { route, principal, attempt } = await asked(config, options);
    process.stdout.write(explained(route, principal, attempt, options.json));
    return 0;
  } catch (error) {
    if (!(error instanceof Denial)) throw error;
    const { reason, detail } = error;
    process.stdout.write(
      options.json ? `${JSON.stringify({ allow: false, reason, detail }, null, 2)}\n` : `deny ${reason}: ${detail}\n`,
    );
    return 0;
  }
}

async function asked(config: Config, options: ExplainOptions): Promise<Asked> {
  if (options.decision !== undefined) return await recorded(config, options.decision, options.log);
  const route = routeNamed(config, options.route);
  const { attempt, principal } = described(route, config, options);
  if (options.token === undefined) return { route, principal, attempt };
  return { route, principal: await tokenPrincipal(route, config, options.token), attempt };
}

async function recorded(config: Config, id: string, log: string | undefined): Promise<Asked> {
  if (log === undefined) throw new UsageError('--decision needs --log FILE, the log that has it');
  for await (const record of decisionsIn(log)) {
    if (record.decision !== id) continue;
    const route = routeNamed(config, record.route);
    const policyDecided = record.issuer !== undefined;
    // A stage before the policy decided, whose reason says it all.
    if (!policyDecided) throw new UsageError(`${record.reason ?? 'allowed'}: ${record.detail ?? 'no policy decided'}`);
    const principal = recordedPrincipal(record, config.scopeHierarchy);
    return { route, principal, attempt: recordedAttempt(record, route) };
  }
  throw new UsageError(`${log} has no decision ${id}`);
}

function routeNamed(config: Config, name: string | undefined): Route {
  const names = config.routes.map((route) => route.name).join(', ');
  if (name === undefined) throw new UsageError(`--route is missing; there are: ${names}`);
  const route = config.routes.find((each) => each.name === name);
  if (route === undefined) throw new UsageError(`there is no route ${JSON.stringify(name)}; there are: ${names}`);
  return route;
}

function explained(route: Route, principal: Principal, attempt: Attempt, json: boolean): string {
  const { policy } = route;
  const decision = policy?.decide(principal, attempt) ?? { allow: true, rule: '' };
  const conditions = policy?.explain(principal, attempt) ?? [];
  const denial = decision.allow ? decision.shadow : decision.denial;
  if (!json) return explanationTable(route, decision, conditions);
  const { reason, detail, scope } = denial ?? {};
  const { rule, allow } = decision;
  const shadow = decision.allow && decision.shadow !== undefined;
  const whole = {
    route: route.name,
    policy: policy?.name,
    allow,
    shadow,
    reason,
    detail,
    rule,
    needed_scope: scope,
    conditions,
  };
  return `${JSON.stringify(whole, null, 2)}\n`;
}
