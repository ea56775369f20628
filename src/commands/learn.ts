import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadWithoutSecrets } from '../serve/config/load.ts';
import { isAccepted } from '../policy-files/policies.ts';
import { counted } from '../core/lib/wording.ts';
import type { Config } from '../ports/config.ts';
import type { Route } from '../core/model/route.ts';
import type { EntryDocument } from '../core/policy/document.ts';
import { innerKey } from '../policy-parts/inner/key.ts';
import { compilePolicy } from '../policy-parts/compile.ts';
import { countDifference, type CountedDifference, differenceOf } from '../analysis/review/replay.ts';
import { learntPolicy, type LearntPolicy } from '../analysis/review/learnt-policy.ts';
import { isPolicyDecision } from '../analysis/review/recorded-decision.ts';
import { type LoggedDecision, LogReader } from './decision-log.ts';
import { routeNamed } from './explain.ts';
import { exists } from '../core/lib/files.ts';
import type { OptionsOf } from './options.ts';
import { type ExitCode, Failure, UsageError } from '../capabilities/terminal.ts';

/**
 * `sallyport learn`: writes a policy that allows what a log shows as allowed on a route, or as let pass by shadow mode,
 * and nothing else. At the end it decides the same log by that policy.
 */
export async function learn(files: readonly string[], options: OptionsOf<'learn'>): Promise<ExitCode> {
  const claim = claimIn(options.by);
  const { config } = await loadWithoutSecrets(options.config);
  const route = routeNamed(config, options.route);
  const name = options.name ?? route.policy?.name ?? route.name;
  if (!/^[\w-]+$/.test(name))
    throw new Failure(`--name: ${JSON.stringify(name)} is not the name of a policy: letters, digits, _ and -`);
  const others = config.routes.filter((other) => other !== route && other.policy?.name === name);
  if (options.name === undefined && others.length > 0) {
    const names = others.map((other) => other.name).join(', ');
    throw new Failure(`the policy ${name} belongs to ${names} too: pass another one as --name`);
  }
  const reader = new LogReader();
  const decisions = new Map<string, LoggedDecision>();
  for (const file of files) {
    for await (const record of reader.records(file)) {
      if (!('settled' in record) && record.route === route.name) decisions.set(record.id, record);
    }
  }
  const calls = [...decisions.values()]
    .filter(({ allow }) => allow)
    .map((record) => ({ record, claim: valueOf(claim, record) }));
  const otherPaths = config.routes.filter((other) => other !== route).map(({ path }) => path);
  const inner = route.policy && innerKey.inPolicy(route.policy);
  const innerOf = (tool: string): EntryDocument['inner'] => inner?.wrapperOf(tool)?.document;
  const learnt = learntPolicy(calls, { ...route, otherPaths, innerOf }, claim);
  if (learnt === undefined) {
    const lines = reader.missing === '' ? '' : ` (${reader.missing})`;
    throw new Failure(`nothing was written: ${nothingLearnt(calls.length, route)}${lines}`);
  }
  if (options.to === undefined) process.stdout.write(learnt.policy);
  else {
    const inTheWay = await written(options.to, name, learnt, options.force);
    if (inTheWay !== undefined)
      throw new Failure(`${inTheWay} exists already: pass --force to replace it, or another --name`);
  }
  const print = options.to === undefined ? process.stderr : process.stdout;
  for (const line of learnt.omitted) print.write(`left out: ${line}\n`);
  const refused = replayed([...decisions.values()], { config, route, learnt, claim });
  for (const { count, called, subject, after } of refused)
    print.write(`newly refused ${count} times: ${called} ${subject}: ${after}\n`);
  const verdict =
    refused.length === 0 ? 'nothing is newly refused' : `${counted(refused.length, 'kind')} of calls newly refused`;
  print.write(`${counted(decisions.size, 'decision')} decided again: ${verdict}\n`);
  return refused.length === 0 && learnt.omitted.length === 0 ? 0 : 1;
}

function nothingLearnt(calls: number, { name, protocol }: Route): string {
  if (calls === 0 || protocol === 'mcp') return `the log has no allowed call of the route ${name}`;
  const lack = `the log has no whole path of ${counted(calls, 'allowed call')} of the route ${name}`;
  return `${lack}, and a policy lists paths: set log.paths to true, or write requests by hand`;
}

function claimIn(by: string | undefined): string | undefined {
  if (by === undefined) return undefined;
  const [, claim] = /^claim:(.+)$/.exec(by) ?? [];
  if (claim === undefined) throw new UsageError(`--by: ${JSON.stringify(by)} is not claim:NAME`);
  if (!isAccepted({ claims: { [claim]: true } }))
    throw new UsageError(`--by: ${JSON.stringify(claim)} is not the name of a claim, or a JSON Pointer to one`);
  return claim;
}

/** The value of a claim, by name or JSON Pointer: as `log.claims` has it, or as the policy read it. */
function valueOf(claim: string | undefined, { entry, input }: LoggedDecision): unknown {
  if (claim === undefined) return undefined;
  const logged = { ...input.claims, ...(entry['claims'] as Record<string, unknown> | undefined) };
  return Object.hasOwn(logged, claim) ? logged[claim] : undefined;
}

/** Writes the policy and its tests. @returns The file in the way, if nothing was written. */
async function written(
  folder: string,
  name: string,
  { policy, tests }: LearntPolicy,
  isForced: boolean,
): Promise<string | undefined> {
  const files = [
    [join(folder, `${name}.yaml`), policy],
    [join(folder, `${name}.test.yaml`), tests],
  ] as const;
  for (const [file] of files) if (!isForced && (await exists(file))) return file;
  await mkdir(folder, { recursive: true });
  for (const [file, text] of files) await writeFile(file, text, { flag: isForced ? 'w' : 'wx' });
  return undefined;
}

interface Learning {
  readonly config: Config;
  readonly route: Route;
  readonly learnt: LearntPolicy;
  readonly claim: string | undefined;
}

/** The calls of the log that passed and that the learnt policy refuses, or cannot decide. */
function replayed(
  decisions: readonly LoggedDecision[],
  { config, route, learnt, claim }: Learning,
): readonly CountedDifference[] {
  const policy = compilePolicy('learnt', learnt.document);
  const rows = new Map<string, CountedDifference>();
  for (const record of decisions) {
    if (!record.allow || !isPolicyDecision(record)) continue;
    const value = valueOf(claim, record);
    const claims =
      claim === undefined || value === undefined ? record.input.claims : { ...record.input.claims, [claim]: value };
    const seen = { ...record, input: { ...record.input, ...(claims !== undefined && { claims }) } };
    const difference = differenceOf(seen, { protocol: route.protocol, policy }, policy, config);
    if (difference !== undefined && difference.change !== 'would be allowed' && difference.after !== 'allow') {
      countDifference(rows, difference);
    }
  }
  return [...rows.values()];
}
