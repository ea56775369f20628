import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** The revisions for which the suite publishes requirements. */
export const revisions = ['2025-11-25', '2026-07-28'] as const;

/** One of {@link revisions}. */
export type Revision = (typeof revisions)[number];

/** The result of one check of the suite. */
export interface Check {
  readonly id: string;
  readonly name: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
  /** The last check of each scenario has `messagesValidated`, the number of messages that the suite received. */
  readonly details?: { readonly messagesValidated?: number };
}

/** Scenario → its checks, in order. */
export type Results = Map<string, readonly Check[]>;

/** The scenarios of a revision. A conforming server passes the scored ones. */
export interface Requirements {
  readonly scored: readonly string[];
  readonly notScored: readonly string[];
}

const suite = new URL(import.meta.resolve('@modelcontextprotocol/conformance/package.json'));

/** The requirements for a server of `revision`, from the file that the suite publishes. */
export async function requirementsOf(revision: Revision): Promise<Requirements> {
  const text = await readFile(new URL(`requirements/${revision}.yaml`, suite), 'utf8');
  const { server, not_scored: others } = parse(text) as RequirementsFile;
  return { scored: server, notScored: others.filter(({ leg }) => leg === 'server').map(({ scenario }) => scenario) };
}

interface RequirementsFile {
  readonly server: string[];
  readonly not_scored: { readonly scenario: string; readonly leg: string }[];
}

/** A run of the suite. */
export interface SuiteRun {
  /** The suite's command and its options. */
  readonly command: readonly string[];
  /** The folder for the suite's log and its results. */
  readonly folder: string;
  /** Receives each line that the suite prints. */
  readonly onLine?: (line: string) => void;
  /** Ends the suite. */
  readonly signal?: AbortSignal;
}

/** Runs the suite's scenarios for MCP servers of a revision against `url`, or `only` one of them. */
export function runServerScenarios(
  url: string,
  revision: Revision,
  only: string | undefined,
  folder: string,
): Promise<Results> {
  const scenarios =
    only === undefined ? ['--requirements', revision] : ['--scenario', only, '--spec-version', revision, '--force'];
  return runSuite({ command: ['server', '--url', url, ...scenarios], folder });
}

/** Runs the suite and reads its results. */
export async function runSuite({ command, folder, onLine, signal }: SuiteRun): Promise<Results> {
  await mkdir(folder, { recursive: true });
  const program = fileURLToPath(new URL('dist/index.js', suite));
  const child = spawn(process.execPath, [program, ...command, '--output-dir', folder], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(join(folder, 'suite.log'));
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  if (onLine !== undefined) createInterface({ input: child.stdout }).on('line', onLine);
  signal?.addEventListener('abort', () => child.kill());
  // It exits with 1 if a check failed. Its files have the details.
  await once(child, 'close');
  return readResults(folder);
}

async function readResults(folder: string): Promise<Results> {
  const results = new Map<string, readonly Check[]>();
  for (const entry of await readdir(folder)) {
    const scenario = /^(?:authorization-)?server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)?.[1];
    // A scenario that broke off leaves an empty folder.
    if (scenario === undefined || !(await readdir(join(folder, entry))).includes('checks.json')) continue;
    results.set(scenario, JSON.parse(await readFile(join(folder, entry, 'checks.json'), 'utf8')) as Check[]);
  }
  return results;
}
