import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { load, loadWithoutSecrets } from '../serve/config/load.ts';
import { historyIn } from '../policy-files/policy-tests.ts';
import { ConfigError } from '../core/config/problems.ts';
import { didYouMean, printable, quoted } from '../core/lib/wording.ts';
import { callerOf } from '../serve/gateway/caller.ts';
import type { Config } from '../ports/config.ts';
import type { DecisionRecord } from '../core/model/decision.ts';
import { Denial } from '../core/model/denial.ts';
import type { EarlierCall } from '../policy-files/policy-tests.ts';
import { actorFlaw } from '../ports/actors.ts';
import type { Claims, Principal } from '../core/model/principal.ts';
import { withGatewayClaims } from '../core/model/gateway-claims.ts';
import type { Route } from '../core/model/route.ts';
import { capabilities, refusals } from '../capabilities/all.ts';
import { type Explained, explainCall, explainRecord, remediesIn } from '../analysis/review/explained.ts';
import { LogReader } from './decision-log.ts';
import type { OptionsOf } from './options.ts';
import {
  jsonText,
  coloured,
  type ExitCode,
  print,
  reportProblems,
  unreadable,
  UsageError,
} from '../capabilities/terminal.ts';
import { type Explanation, unknownArguments, type Attempt, type McpTarget } from '../core/model/policy.ts';
import { isObject } from '../core/lib/json/own-member.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import { durationMs } from '../core/lib/quantity.ts';
import { describedKinds, listedKinds, mcpMethod } from '../core/model/mcp.ts';
import { requestFlaw } from '../core/policy/requests.ts';
import { callerOf as describedCaller } from '../analysis/review/described-caller.ts';

type ExplainOptions = OptionsOf<'explain'>;

/**
 * `sallyport explain`: shows the decision on a call, and every condition with what it found, by the code that serves.
 *
 * @throws {UsageError} for options that do not describe a call.
 */
export async function explain(options: ExplainOptions): Promise<ExitCode> {
  // An authorization server may have to be asked about a token.
  const { config } = await (options.token === undefined ? loadWithoutSecrets : load)(options.config);
  try {
    const explanation = await explained(config, options);
    return print(options.json ? explanationJson(explanation) : explanationTable(explanation));
  } catch (error) {
    if (error instanceof ConfigError) return reportProblems(options.history ?? '', error);
    if (!(error instanceof Denial)) throw error;
    const { reason, detail } = error;
    return print(
      options.json
        ? jsonText({ allow: false, reason, detail }, 2)
        : `${coloured('bad', 'deny')} ${reason}: ${detail}\n`,
    );
  }
}

async function explained(config: Config, options: ExplainOptions): Promise<Explained> {
  if (options.decision !== undefined) {
    const log = options.log ?? config.log.file;
    if (log === undefined) {
      throw new UsageError(`--decision needs its log: pass --log FILE, or set log.file in ${options.config}`);
    }
    return explainDecision(config, options.decision, log);
  }
  const route = routeNamed(config, options.route);
  const [principal, attempt] = [callerIn(route, config, options), attemptIn(route, options)];
  const earlier = options.history === undefined ? undefined : await earlierCalls(options.history);
  const caller = options.token === undefined ? principal : await tokenPrincipal(route, config, options.token);
  const described = options.token === undefined ? caller.claims : {};
  const running = capabilities.flatMap(({ notesOn }) => notesOn?.(route, attempt) ?? []);
  return explainCall(route, withGatewayClaims(caller, Date.now, described), attempt, earlier, running);
}

async function earlierCalls(file: string): Promise<readonly EarlierCall[]> {
  const content = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unreadable(file, error);
  });
  const { history, problems } = historyIn(file, content);
  if (problems.length > 0) throw new ConfigError(problems, []);
  return history;
}

/**
 * The route of this name; without a name, the only one.
 *
 * @throws {UsageError} for no such route.
 */
export function routeNamed(config: Config, name: string | undefined): Route {
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
  const reader = new LogReader();
  for await (const record of reader.decisions(log)) {
    if (record.id === id) return explainRecord(config, record, refusals);
    if (record.requestId === id) found.push(record);
  }
  const [only, ...others] = found;
  if (only === undefined) {
    const missing = reader.missing === '' ? '' : `; ${reader.missing}`;
    throw new UsageError(`${log} has neither a decision nor a request ${id}${missing}`);
  }
  if (others.length === 0) return explainRecord(config, only, refusals);
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
  return callerOf((token === '-' ? await textOf(process.stdin) : token).trim(), route, config);
}

function explanationJson(explained: Explained): string {
  const { route, policy, allow, unknown, shadow, reason, detail, rule, neededScope, notes, conditions } = explained;
  const needed = neededScope.length === 0 ? undefined : neededScope;
  const depends = unknown.length === 0 ? undefined : unknown.map((what) => what.replaceAll(' ', '_'));
  const members = {
    route,
    policy,
    allow,
    depends_on: depends,
    shadow,
    reason,
    detail,
    rule,
    needed_scope: needed,
    notes,
    conditions,
  };
  return jsonText(members, 2);
}

/** An explanation for people: the decision, what each condition wanted and found, and what would change it. */
export function explanationTable(explained: Explained): string {
  const { route, decidedBy, reason, detail, rule, neededScope, notes, conditions } = explained;
  const verdict = coloured(explained.allow ? 'good' : 'bad', verdictOf(explained));
  const place = route === undefined ? 'no route' : `route ${printable(route)}`;
  const head = [
    `${verdict}${reason === undefined ? '' : ` ${printable(reason)}`}   (${place}, ${printable(decidedBy)})`,
  ];
  if (detail !== undefined) head.push(`  ${printable(rule === undefined ? detail : `${rule}: ${detail}`)}`);
  if (neededScope.length > 0) head.push(`  the challenge asks for scope "${printable(neededScope.join(' '))}"`);
  head.push(...notes.map((note) => `  ${printable(note)}`));
  const rows = conditions.flatMap((each) => rowsOf(each, conditions));
  const blocks = [head, columns(rows), remedies(conditions)];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function verdictOf({ allow, shadow, unknown }: Explained): string {
  if (!allow) return 'deny';
  if (shadow) return 'allow, but only in shadow; enforced: deny';
  return unknown.length === 0 ? 'allow' : `allow, if the policy accepts the ${unknown.join(' and the ')}`;
}

type Row = readonly [outcome: string, rule: string, wanted: string, found: string];

function rowsOf(
  { rule, kind, outcome, wanted, found, parts }: Explanation,
  all: readonly Explanation[],
  depth = 0,
): readonly Row[] {
  const words = kind === 'listed' && parts.length === 0 && outcome === 'holds' ? wantedBy(rule, all) : wanted;
  const own: Row = [outcome, `${'  '.repeat(depth)}${printable(rule)}`, printable(words), printable(found)];
  return [own, ...parts.flatMap((part) => rowsOf(part, all, depth + 1))];
}

/** The expectation of an entry without conditions of its own. Its rules over time have rows of their own. */
function wantedBy(entry: string, all: readonly Explanation[]): string {
  const isOverTime = all.some(({ kind, rule }) => kind === 'history' && rule.startsWith(`${entry}.`));
  return isOverTime ? 'nothing but its rules over time' : 'nothing more';
}

function columns(rows: readonly Row[]): readonly string[] {
  if (rows.length === 0) return [];
  const all: readonly Row[] = [['', 'rule', 'wanted', 'found'], ...rows];
  const widths = [0, 1, 2].map((index) => Math.max(...all.map((row) => row[index]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function remedies(conditions: readonly Explanation[]): readonly string[] {
  const wanted = remediesIn(conditions);
  return wanted.length === 0 ? [] : ['to be allowed:', ...wanted.map((each) => `  ${printable(each)}`)];
}

function callerIn(route: Route, config: Config, { claims: text, scope, lifetime }: ExplainOptions): Principal {
  const claims = text === undefined ? {} : jsonObject(text, '--claims');
  const { iss, exp, iat, scope: own } = claims;
  if (lifetime !== undefined && durationMs(lifetime) === undefined) {
    throw new UsageError(`--lifetime: ${JSON.stringify(lifetime)} is not a duration such as 60s`);
  }
  const flaw = actorFlaw(claims);
  if (flaw !== undefined) throw new UsageError(`--claims: ${flaw}`);
  const described = {
    claims,
    scope: (scope ?? (typeof own === 'string' ? own : '')).split(' ').filter((each) => each !== ''),
    ...(typeof iss === 'string' && { issuer: iss }),
    ...(lifetime !== undefined && { lifetime }),
  };
  const caller = describedCaller(described, config.scopeHierarchy, route.authorizationServers[0]?.issuer ?? '');
  return {
    ...caller,
    expiresAt: caller.expiresAt ?? (typeof exp === 'number' ? exp : undefined),
    issuedAt: caller.issuedAt ?? (typeof iat === 'number' ? iat : undefined),
  };
}

function attemptIn(route: Route, options: ExplainOptions): Attempt {
  const [kind, second] = describedKinds.filter((each) => options[each] !== undefined);
  if (second !== undefined) throw new UsageError(`one call cannot act on a ${kind} and a ${second}`);
  if (route.protocol === 'http') return requestIn(route, kind ?? (options.method && 'method'), options.request);
  if (kind === 'request') throw new UsageError(`--request: ${route.name} is not protocol: http`);
  const targets: readonly McpTarget[] = kind === undefined ? [] : [{ kind, name: options[kind] ?? '' }];
  return {
    kind: 'mcp',
    method: mcpMethod(options.method ?? (kind === undefined ? undefined : listedKinds[kind].namedBy)),
    targets,
    arguments: options.arguments === undefined ? unknownArguments : jsonObject(options.arguments, '--arguments'),
  };
}

function requestIn({ name, policy }: Route, described: string | undefined, request: string | undefined): Attempt {
  if (described !== undefined && described !== 'request') {
    throw new UsageError(`--${described}: ${name} is not protocol: mcp`);
  }
  if (request === undefined && policy?.listsRequests === true) {
    throw new UsageError(`the policy of ${name} decides by method and path: add --request 'GET /PATH'`);
  }
  const flaw = request === undefined ? undefined : requestFlaw(request, 'requests');
  if (flaw !== undefined) throw new UsageError(`--request: ${quoted(request ?? '')} ${flaw}`);
  return request === undefined ? { kind: 'http' } : { kind: 'http', request };
}

/** @throws {UsageError} with what the option has instead; a value that looks like a secret is not shown. */
function jsonObject(text: string, option: '--claims' | '--arguments'): Claims {
  const value = parsedJson(text);
  if (isObject(value)) return value;
  const example = option === '--claims' ? '{"sub":"alice"}' : '{"id":1}';
  const wanted = `pass a JSON object such as '${example}', in single quotes`;
  if (option === '--claims' && /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)) {
    throw new UsageError('--claims looks like a token: pass a token as --token, or - to read it from stdin');
  }
  const kind = value === undefined ? 'JSON' : 'a JSON object';
  throw new UsageError(`${option}: ${quoted(text)} is not ${kind}; ${wanted}`);
}
