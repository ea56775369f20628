import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { disk, type Files } from '../../core/config/files.ts';
import { lockFileOf, lockFileText, readLockFile } from './lock-file.ts';
import { counted, printable, quoted } from '../../core/lib/wording.ts';
import { differences, inWords, keysTwiceIn } from './comparison.ts';
import { presentsCallers, remedyForStranger } from './remedy.ts';
import { lockOf } from './settings.ts';
import { schemaFault } from './strict-calls.ts';
import { listDefinitions, McpServerFault, remedyForHost } from '../../mcp/client/ask-server.ts';
import type { Config, PolicyFolder } from '../../ports/config.ts';
import { Denial } from '../../core/model/denial.ts';
import { type DescribedDefinition, definitionKey } from '../../mcp/definitions.ts';
import type { Route } from '../../core/model/route.ts';
import { questionHeaders, serverUrl } from '../../ports/upstream-questions.ts';
import type { CommandKit, Values } from '../command.ts';
import type { lockOptions } from './commands.ts';
import { coloured, type ExitCode, tokenOnStdin, UsageError } from '../terminal.ts';

interface Result {
  readonly isGood: boolean;
  readonly lines: readonly string[];
  /** Tools that cannot be called with `calls: strict`; they change no exit code. */
  readonly warnings?: readonly string[];
}

class NothingShown extends Error {
  override readonly name = 'NothingShown';
}

/**
 * `sallyport lock`: writes the lock file of each policy with `lock`, or compares it with what its server shows.
 *
 * @throws {UsageError}
 */
export async function lock(
  { config: file, check, token: source, route: name }: Values<typeof lockOptions>,
  kit: CommandKit,
): Promise<ExitCode> {
  const token = await tokenOnStdin(source);
  const { config, policyFolder } = await kit.load(file, process.env, check ? disk : withoutLocks);
  const all = config.routes.filter((route) => lockOf.of(route) !== undefined);
  if (all.length === 0) {
    process.stderr.write(`${file}: no policy of a route has the key lock: add lock: report to one, then lock: deny\n`);
    return 1;
  }
  const names = all.map((route) => route.name).join(', ');
  const routes = all.filter((route) => name === undefined || route.name === name);
  if (routes.length === 0) throw new UsageError(`--route: ${quoted(name ?? '')} has no lock; these have: ${names}`);
  if (token !== undefined && routes.length > 1) throw new UsageError(`--token needs --route, one of ${names}`);
  const use = check ? checked : written;
  const results = await Promise.all(
    routes.map(async (route): Promise<Result> => {
      try {
        const shown = await shownBy(route, config, token, kit);
        const { isGood, lines } = await use(route, policyFolder, shown);
        return { isGood, lines, warnings: warningsOn(route, shown) };
      } catch (error) {
        if (!(error instanceof NothingShown)) throw error;
        return { isGood: false, lines: [error.message] };
      }
    }),
  );
  for (const { isGood, lines, warnings = [] } of results) {
    const label = coloured(isGood ? 'good' : 'bad', isGood ? 'ok  ' : 'fail');
    for (const line of lines) process.stdout.write(`${label} ${printable(line)}\n`);
    for (const line of warnings) process.stdout.write(`${coloured('warning', 'warn')} ${printable(line)}\n`);
  }
  return results.every(({ isGood }) => isGood) ? 0 : 1;
}

function warningsOn(route: Route, shown: readonly DescribedDefinition[]): readonly string[] {
  if (lockOf.of(route)?.isStrict !== true) return [];
  return shown.flatMap((each) => {
    const fault = schemaFault(each);
    return fault === undefined ? [] : [`${definitionKey(each)}: calls: strict refuses it: ${fault}`];
  });
}

/** The files as they are, with empty locks: a policy with `lock` is an error until its first lock is written. */
const withoutLocks: Files = {
  ...disk,
  text: (file) => (file.endsWith(lockFileOf('')) ? Promise.resolve({ text: '{}' }) : disk.text(file)),
};

/**
 * What the server of a route shows: to a caller without identity, or to the caller of `token`, as the route presents
 * that caller.
 *
 * @throws {NothingShown}
 */
async function shownBy(
  route: Route,
  config: Config,
  token: string | undefined,
  kit: CommandKit,
): Promise<readonly DescribedDefinition[]> {
  const url = serverUrl(route.upstream);
  const headers = token === undefined ? questionHeaders(route.upstream) : await presentedBy(route, config, token, kit);
  try {
    return await listDefinitions(url, { headers });
  } catch (error) {
    if (!(error instanceof McpServerFault)) throw error;
    const { kind, message } = error;
    if (kind === 'unreachable') throw new NothingShown(`${url} cannot be reached (${message})`);
    if (kind === 'host') throw new NothingShown(`${url} ${message}: ${remedyForHost(url)}`);
    const remedy = kind === 'unauthorized' && token === undefined ? `; ${remedyForStranger(route, 'lock')}` : '';
    throw new NothingShown(`${url} ${message}${remedy}`);
  }
}

/** The header fields by which a route presents the caller of a token to its upstream. @throws {NothingShown} */
async function presentedBy(route: Route, config: Config, token: string, kit: CommandKit): Promise<Headers> {
  const on = `routes.${route.name}`;
  if (!presentsCallers(route)) throw new NothingShown(`${on} presents no caller to its upstream: omit --token`);
  try {
    return await kit.callerFields(token, route, config);
  } catch (error) {
    if (!(error instanceof Denial)) throw error;
    throw new NothingShown(`${on} refuses the token: ${error.reason}: ${error.detail}`);
  }
}

async function written(route: Route, folder: PolicyFolder, shown: readonly DescribedDefinition[]): Promise<Result> {
  const url = serverUrl(route.upstream);
  const policy = route.policy?.name ?? '';
  const twice = [...keysTwiceIn(shown)].map((key) => `${key} appears twice`);
  const unreadable = shown
    .filter(({ sha256 }) => sha256 === '')
    .map((each) => `${definitionKey(each)} has no RFC 8785 form`);
  const faults = [...twice, ...unreadable];
  if (faults.length > 0) return { isGood: false, lines: faults.map((fault) => `${url}: ${fault}: nothing written`) };
  const file = lockFileOf(policy);
  const { text = '{}' } = await disk.text(join(folder.path, file));
  const { approved } = readLockFile(file, text);
  await writeFile(join(folder.path, file), lockFileText(policy, url, shown));
  const label = join(folder.label, file);
  const changes = differences(approved, shown).map((each) => `${label}: ${inWords(each)}`);
  return { isGood: true, lines: [...changes, `${label}: ${counts(shown)}`] };
}

function checked(route: Route, folder: PolicyFolder, shown: readonly DescribedDefinition[]): Result {
  const label = join(folder.label, lockFileOf(route.policy?.name ?? ''));
  const found = differences(lockOf.of(route)?.approved ?? new Map(), shown).map((each) => `${label}: ${inWords(each)}`);
  return found.length === 0 ? { isGood: true, lines: [`${label}: ${counts(shown)}`] } : { isGood: false, lines: found };
}

function counts(shown: readonly DescribedDefinition[]): string {
  const { tool = [], prompt = [], instructions } = Object.groupBy(shown, ({ kind }) => kind);
  const others = instructions === undefined ? 'no instructions' : 'instructions';
  const capable = shown.filter(({ needsCapabilities }) => needsCapabilities === true).length;
  const some = capable === 0 ? '' : `; ${capable} of them only for clients with roots, sampling or elicitation`;
  return `${counted(tool.length, 'tool')}, ${counted(prompt.length, 'prompt')}, ${others}${some}`;
}
