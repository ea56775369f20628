import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/ports.ts';
import type { Running } from '../contender.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PATIENCE_MS = 60_000;

/** Why a program cannot start; undefined if it is on the PATH. */
export function notOnPath(command: string): string | undefined {
  const found = spawnSync('sh', ['-c', `command -v "$0"`, command]).status === 0;
  return found ? undefined : `${command} is not installed`;
}

/** A program on a given core. */
interface Program {
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

/** Starts a program on the contender's core or on the other one. */
export function startProgram(command: readonly string[], where: 'contender' | 'other'): Program {
  const core = String(where === 'contender' ? CONTENDER_CORE : OTHER_CORE);
  const child = spawn('taskset', ['-c', core, ...command], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  endWithThis(child);
  // Reads the output and discards it, like a log collector. A full pipe would change the measurement.
  child.stdout.resume();
  // `taskset` replaces itself with the program, so that the pid is the program's.
  return { pid: child.pid as number, stop: () => stop(child) };
}

/** Starts a server, and resolves after its first answer at `host`, with any status. */
export async function startServer(
  command: readonly string[],
  where: 'contender' | 'other',
  host: string,
): Promise<Running> {
  const { pid, stop } = startProgram(command, where);
  const url = `http://${host}`;
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await (await fetch(url, { redirect: 'manual' })).arrayBuffer();
      return { url, pids: [pid, ...childrenOf(pid)], stop };
    } catch (cause) {
      if (performance.now() > until) throw new Error(`${url} does not answer`, { cause });
      await wait(5);
    }
  }
}

/** Starts a Node program of `bench/servers/` with its port in `PORT`. */
export async function startNode(
  file: string,
  where: 'contender' | 'other',
  environment: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const host = await freeHost();
  const settings = Object.entries({ ...environment, PORT: new URL(`http://${host}`).port });
  const variables = settings.map(([name, value]) => `${name}=${value}`);
  return startServer(['env', ...variables, process.execPath, join(root, 'bench/servers', file)], where, host);
}

/** An address of loopback where a server can listen. */
export async function freeHost(): Promise<string> {
  return `127.0.0.1:${await freePort()}`;
}

/** Writes a file, and its folder, and returns its path. */
export async function written(path: string, text: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

const programs = new Set<ChildProcess>();

/** Ends a program with this one, also if a signal ends this one. */
function endWithThis(child: ChildProcess): void {
  if (programs.size === 0) {
    process.once('exit', () => programs.forEach((each) => each.kill()));
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  }
  programs.add(child);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const impatience = setTimeout(() => child.kill('SIGKILL'), 1000);
  await ended;
  clearTimeout(impatience);
}

/** All descendants of a process. */
function childrenOf(pid: number): readonly number[] {
  const own = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number);
  return own.concat(own.flatMap(childrenOf));
}

/** The core that is reserved for the contender. */
const CONTENDER_CORE = 0;
/** The core of the load, the upstream and this program, which must not slow the contender. */
const OTHER_CORE = 1;

/** Moves this program off the contender's core. Programs that it starts later follow it. */
export function leaveContenderCore(): void {
  if (availableParallelism() < 2)
    throw new Error('the benchmark needs two cores: one for the contender, one for the load');
  execFileSync('taskset', ['-a', '-p', '-c', String(OTHER_CORE), String(process.pid)], { stdio: 'ignore' });
}

/**
 * The CPU time of processes since their start, user and system, in microseconds. Read from `schedstat` of each thread,
 * which counts nanoseconds; `stat` counts ticks of 10 ms.
 */
export function cpuMicroseconds(pids: readonly number[]): number {
  let nanoseconds = 0;
  for (const pid of pids) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
    }
  }
  return nanoseconds / 1000;
}

/** The resident memory of processes, in KiB. */
export function residentKiB(pids: readonly number[]): number {
  return pids.map((pid) => statusKiB(pid, 'VmRSS')).reduce((sum, each) => sum + each, 0);
}

/** The peak of a process's resident memory, in KiB, since its start or since {@link forgetPeak}. */
export function peakKiB(pid: number): number {
  return statusKiB(pid, 'VmHWM');
}

function statusKiB(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(new RegExp(`^${field}:\\s+([0-9]+)`, 'm').exec(status)?.[1]);
}
