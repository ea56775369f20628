/**
 * Runs the official conformance suite against a server that passes it, directly and through the gateway, and compares
 * every check. The gateway must not change the protocol. Then runs its scenarios for authorization servers.
 *
 *     npm run conformance -- [--revision 2025-11-25|2026-07-28] [--only SCENARIO]
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Running } from '../demo/listen.ts';
import { startIssuer } from '../test/support/issuer.ts';
import { examineFrontDoor } from './authorization.ts';
import { examineCallers } from './callers.ts';
import { startBearerProxy, type Onward } from './bearer-proxy.ts';
import { startEverythingServer } from './everything-server.ts';
import { startGateway } from './gateway.ts';
import { checkText, differencesOf, differenceText, heading, rowText, type Row } from './compare.ts';
import { requirementsOf, revisions, runServerScenarios, type Results, type Revision } from './suite.ts';

/** The addresses of the same server, directly and through the gateway. */
interface Ways {
  readonly direct: string;
  readonly through: string;
}

const { values: options } = parseArgs({ options: { revision: { type: 'string' }, only: { type: 'string' } } });
const folder = await mkdtemp(join(tmpdir(), 'sallyport-conformance-'));
const running: Running[] = [];
try {
  const ways = await startAll();
  const chosen = revisions.filter((revision) => revision === (options.revision ?? revision));
  const rows = (await Promise.all(chosen.map((revision) => compare(revision, ways)))).flat();
  process.stdout.write(`${[heading, ...rows.map(rowText)].join('\n')}\n`);
  const faults = rows.length > 0 ? rows.flatMap(faultsOf) : ['no scenario matches --revision and --only'];
  if (options.revision === undefined && options.only === undefined) {
    faults.push(...(await examineFrontDoor(folder)), ...(await examineCallers(folder)));
  }
  if (faults.length > 0) {
    process.stdout.write(`\n${faults.join('\n')}\n\nThe results of the suite and the gateway's log are in ${folder}\n`);
    process.exitCode = 1;
  }
} finally {
  for (const part of running.toReversed()) await part.close();
  if (process.exitCode === undefined) await rm(folder, { recursive: true });
}

/** Starts the server, an issuer, the gateway, and the proxy between the suite and the gateway. */
async function startAll(): Promise<Ways> {
  let onward: Onward;
  const server = await startEverythingServer();
  running.push(server);
  const issuer = await startIssuer();
  running.push(issuer);
  const proxy = await startBearerProxy(() => onward);
  running.push(proxy);
  const through = `${proxy.url}/mcp`;
  const parts = { folder, publicUrl: proxy.url, issuer: issuer.url, upstream: server.url };
  const gateway = await startGateway(parts);
  running.push(gateway);
  const inAnHour = Math.floor(Date.now() / 1000) + 3600;
  const token = await issuer.sign({ aud: through, scope: 'read', exp: inAnHour });
  onward = { url: gateway.url, token };
  return { direct: server.url, through };
}

/** Runs the chosen scenarios of a revision both ways. Returns a row for scored scenarios and one for the others. */
async function compare(revision: Revision, ways: Ways): Promise<readonly Row[]> {
  const { scored, notScored } = await requirementsOf(revision);
  const wanted = (scenario: string): boolean => options.only === undefined || scenario === options.only;
  if (![...scored, ...notScored].some(wanted)) return [];
  const results = await bothWays(revision, ways, options.only, join(folder, revision));
  const rows = (): readonly Row[] => {
    const row = (names: readonly string[], isScored: boolean): Row => {
      const scenarios = names.filter(wanted);
      const differences = differencesOf(scenarios, results.direct, results.through);
      return { revision, scored: isScored, scenarios, ...results, differences };
    };
    return [row(scored, true), row(notScored, false)].filter(({ scenarios }) => scenarios.length > 0);
  };
  // The suite itself waits for fixed times, which a busy machine exceeds. A scenario that fails for it runs once more.
  for (const scenario of new Set(rows().flatMap(faultyScenariosOf))) {
    const again = await bothWays(revision, ways, scenario, join(folder, revision, 'again', scenario));
    for (const way of ['direct', 'through'] as const) {
      const checks = again[way].get(scenario);
      if (checks !== undefined) results[way].set(scenario, checks);
    }
  }
  return rows();
}

async function bothWays(
  revision: Revision,
  { direct, through }: Ways,
  only: string | undefined,
  results: string,
): Promise<Record<keyof Ways, Results>> {
  return {
    direct: await runServerScenarios(direct, revision, only, join(results, 'direct')),
    through: await runServerScenarios(through, revision, only, join(results, 'through')),
  };
}

function faultyScenariosOf({ scored, scenarios, direct, differences }: Row): readonly string[] {
  const failing = scored ? scenarios.filter((scenario) => failuresOf(scenario, direct).length > 0) : [];
  return [...failing, ...differences.map(({ scenario }) => scenario)];
}

/** The faults: checks that differ, scenarios that did not run, and scored ones that the server fails directly. */
function faultsOf({ revision, scored, scenarios, direct, differences }: Row): readonly string[] {
  const missing = scenarios.filter((scenario) => !direct.has(scenario)).map((scenario) => `${scenario} did not run`);
  const failing = scored ? scenarios.flatMap((scenario) => failuresOf(scenario, direct)) : [];
  return [...missing, ...failing, ...differences.map(differenceText)].map((fault) => `${revision} ${fault}`);
}

/** A warning also counts as a failure. For example, without a session the suite only warns and tests nothing. */
function failuresOf(scenario: string, results: Results): readonly string[] {
  return (results.get(scenario) ?? [])
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map((check) => `${scenario}\n  direct   ${checkText(check)}`);
}
