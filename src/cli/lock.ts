import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { disk, type Files } from '../config/files.ts';
import { load } from '../config/load.ts';
import { lockFileOf, lockFileText, readLockFile } from '../config/lock-file.ts';
import { printable } from '../config/wording.ts';
import { differences, inWords, keysTwiceIn } from '../lock/differences.ts';
import { listDefinitions } from '../mcp-client/list-definitions.ts';
import { McpServerFault } from '../mcp-client/ask-server.ts';
import type { PolicyFolder } from '../model/config.ts';
import { type DescribedDefinition, definitionKey } from '../model/lock.ts';
import type { Route } from '../model/route.ts';
import { coloured } from './colour.ts';
import { type ExitCode, reportProblems } from './exit.ts';

/** What became of one lock: whether it is in order, and a line for each thing to say. */
interface Result {
  readonly isGood: boolean;
  readonly lines: readonly string[];
}

/**
 * `sallyport lock`: writes the lock file of each policy with `lock`, or compares it with what its server shows.
 *
 * @param onlyChecks Writes nothing; exits with 1 if anything differs.
 */
export async function lock(file: string, onlyChecks: boolean): Promise<ExitCode> {
  let loaded;
  try {
    loaded = await load(file, process.env, onlyChecks ? disk : withoutLocks);
  } catch (error) {
    return reportProblems(file, error);
  }
  const { config, policyFolder } = loaded;
  const locked = config.routes.filter((route) => route.lock !== undefined);
  if (locked.length === 0) {
    process.stderr.write(`${file}: no policy of a route has the key lock: add lock: report to one, then lock: deny\n`);
    return 1;
  }
  const results = await Promise.all(
    locked.map((route) => (onlyChecks ? checked(route, policyFolder) : written(route, policyFolder))),
  );
  for (const { isGood, lines } of results) {
    const label = coloured(isGood ? 'good' : 'bad', isGood ? 'ok  ' : 'fail');
    for (const line of lines) process.stdout.write(`${label} ${printable(line)}\n`);
  }
  return results.every(({ isGood }) => isGood) ? 0 : 1;
}

/** The files as they are, with empty locks: a policy with `lock` is an error until its first lock is written. */
const withoutLocks: Files = {
  ...disk,
  text: (file) => (file.endsWith(lockFileOf('')) ? Promise.resolve({ text: '{}' }) : disk.text(file)),
};

async function written(route: Route, folder: PolicyFolder): Promise<Result> {
  return shownBy(route, async (shown, url, policy) => {
    const file = lockFileOf(policy);
    const twice = [...keysTwiceIn(shown)].map((key) => `${key} stands twice`);
    const unreadable = shown
      .filter(({ sha256 }) => sha256 === '')
      .map((each) => `${definitionKey(each)} has no RFC 8785 form`);
    const faults = [...twice, ...unreadable];
    if (faults.length > 0) return { isGood: false, lines: faults.map((fault) => `${url}: ${fault}: nothing written`) };
    const { text = '{}' } = await disk.text(join(folder.path, file));
    const { approved } = readLockFile(file, text);
    await writeFile(join(folder.path, file), lockFileText(policy, url, shown));
    const found = differences(approved, shown);
    const label = join(folder.label, file);
    return {
      isGood: true,
      lines: [...found.map((each) => `${label}: ${inWords(each)}`), `${label}: ${counts(shown)}`],
    };
  });
}

async function checked(route: Route, folder: PolicyFolder): Promise<Result> {
  return shownBy(route, (shown, _, policy) => {
    const label = join(folder.label, lockFileOf(policy));
    const found = differences(route.lock?.approved ?? new Map(), shown);
    const isGood = found.length === 0;
    const lines = isGood ? [`${label}: ${counts(shown)}`] : found.map((each) => `${label}: ${inWords(each)}`);
    return { isGood, lines };
  });
}

/** What the server of a route shows, used; or why it shows nothing. */
async function shownBy(
  { policy, upstream }: Route,
  use: (shown: readonly DescribedDefinition[], url: string, policy: string) => Result | Promise<Result>,
): Promise<Result> {
  const url = upstream.origin + (upstream.path || '/');
  let shown;
  try {
    shown = await listDefinitions(url);
  } catch (error) {
    if (!(error instanceof McpServerFault)) throw error;
    return {
      isGood: false,
      lines: [`${url} ${error.kind === 'unreachable' ? `cannot be reached (${error.message})` : error.message}`],
    };
  }
  return use(shown, url, policy?.name ?? '');
}

function counts(shown: readonly DescribedDefinition[]): string {
  const of = (kind: DescribedDefinition['kind'], word: string): string => {
    const { length } = shown.filter((each) => each.kind === kind);
    return `${length} ${word}${length === 1 ? '' : 's'}`;
  };
  const hasInstructions = shown.some(({ kind }) => kind === 'instructions');
  return `${of('tool', 'tool')}, ${of('prompt', 'prompt')}, ${hasInstructions ? 'instructions' : 'no instructions'}`;
}
