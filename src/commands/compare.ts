import { besidePolicies } from '../capabilities/all.ts';
import type { OptionsOf } from './options.ts';
import { loadWithoutSecrets } from '../serve/config/load.ts';
import { policiesIn } from '../policy-files/policies.ts';
import {
  compareAll,
  compareRoutes,
  joined,
  type NamedComparison,
  type NamedDifference,
} from '../analysis/compare/compare.ts';
import type { Config } from '../ports/config.ts';
import type { Policy } from '../core/model/policy.ts';
import { Disagreement } from '../analysis/prove/prove.ts';
import { decidingBy } from '../analysis/review/run-tests.ts';
import { jsonText, type ExitCode, reportProblems, UsageError, Failure } from '../capabilities/terminal.ts';
import { printable } from '../core/lib/wording.ts';
import { flowYaml } from '../analysis/review/flow-yaml.ts';

/** `sallyport compare`: what an edit of policies means. */
export async function compare({ from, to, config: file, json }: OptionsOf<'compare'>): Promise<ExitCode> {
  if (from === undefined) throw new UsageError('--from is missing: the policies before the edit');
  const toConfig = to !== undefined && isConfig(to);
  let config: Config;
  let before: Compared;
  let after: Compared;
  let reading = toConfig ? to : file;
  try {
    ({ config } = await loadWithoutSecrets(reading));
    reading = from;
    before = await comparedIn(from);
    reading = to ?? file;
    after = to === undefined || toConfig ? { policies: config.policies, config } : await comparedIn(to);
  } catch (error) {
    reportProblems(reading, error);
    return 2;
  }
  const comparison = compared(before, after, config);
  const report = json ? comparisonJson(comparison) : comparisonText(comparison);
  process.stdout.write(report);
  return comparison.differences.length > 0 || comparison.undecided.length > 0 ? 1 : 0;
}

interface Compared {
  readonly policies: ReadonlyMap<string, Policy>;
  readonly config?: Config;
}

function isConfig(path: string): boolean {
  return /\.ya?ml$/.test(path);
}

async function comparedIn(path: string): Promise<Compared> {
  if (!isConfig(path)) return { policies: await policiesIn(path, besidePolicies) };
  const { config } = await loadWithoutSecrets(path);
  return { policies: config.policies, config };
}

function compared(before: Compared, after: Compared, config: Config): NamedComparison {
  const [server] = config.authorizationServers.values();
  const deciding = decidingBy({ ...config, defaultIssuer: server?.issuer ?? '' });
  try {
    const ofPolicies = compareAll(before.policies, after.policies, deciding);
    if (before.config === undefined || after.config === undefined) return ofPolicies;
    const ofRoutes = compareRoutes(before.config.routes, after.config.routes, deciding);
    return joined([ofPolicies, ofRoutes, comparedScopes(before.config, after.config)]);
  } catch (error) {
    if (!(error instanceof Disagreement)) throw error;
    const what = 'internal error: the comparison and the gateway disagree, please report it';
    throw new Failure(`${what}: ${error.message}`);
  }
}

/** All policies are compared by one hierarchy of scopes. */
function comparedScopes(before: Config, after: Config): NamedComparison {
  if (written(before) === written(after)) return { differences: [], undecided: [] };
  const why = 'the configurations have different `scopes`; the policies are compared by those of the new one';
  return { differences: [], undecided: [{ policy: 'gateway.yaml', rule: 'scopes', why }] };
}

function written({ scopeHierarchy }: Config): string {
  const rows = [...scopeHierarchy].map(([scope, implied]) => [scope, ...implied.toSorted()].join(' '));
  return rows.toSorted().join('\n');
}

function comparisonText({ differences, undecided }: NamedComparison): string {
  const policies = [...new Set([...differences, ...undecided].map(({ policy }) => policy))];
  if (policies.length === 0) return 'nothing differs\n';
  return policies.map((name) => section(name, { differences, undecided })).join('\n');
}

function section(name: string, { differences, undecided }: NamedComparison): string {
  const own = differences.filter(({ policy }) => policy === name).flatMap(lines);
  const open = undecided.filter(({ policy }) => policy === name);
  const all = [name, ...own, ...open.map(({ rule, why }) => `  undecided: ${rule}${gap}${why}`)];
  return `${all.map(printable).join('\n')}\n`;
}

const gap = ' '.repeat(12);

function lines(difference: NamedDifference): readonly string[] {
  const { kind, rule, witness } = difference;
  const about = witness === undefined && kind !== 'rules over time changed' ? '' : `: ${rule}`;
  const change = changeOf(difference);
  const head = `  ${kind}${about}${change === '' ? '' : gap}${change}`;
  if (witness === undefined) return [head];
  return [head, `    given: ${flowYaml(witness.given)}`, `    when: ${flowYaml(witness.when)}`];
}

/** The decision before and after; `allow` is in the kind of difference. */
function changeOf({ kind, was, now }: NamedDifference): string {
  const quoted = kind === 'asked for other scopes' ? JSON.stringify : String;
  const sides = [
    ...(was === undefined || kind === 'newly refused' ? [] : [`was ${quoted(was)}`]),
    ...(now === undefined || kind === 'newly allowed' ? [] : [`now ${quoted(now)}`]),
  ];
  const what = kind === 'calls changed' && now === 'off' ? ': arguments that the schemas refuse are newly allowed' : '';
  return sides.join(', ') + what;
}

function comparisonJson({ differences, undecided }: NamedComparison): string {
  const rows = differences.map(({ policy, kind, rule = null, was = null, now = null, witness }) => {
    return { policy, kind, rule, was, now, given: witness?.given ?? null, when: witness?.when ?? null };
  });
  const open = undecided.map(({ policy, rule, why }) => ({ policy, rule, why }));
  return jsonText({ differences: rows, undecided: open }, 2);
}
