import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { accepts } from './ports.ts';

/** Whether this machine has a program. */
export function isInstalled(program: string, versionFlag: string): boolean {
  const found = spawnSync(program, [versionFlag]).status === 0;
  if (!found) process.stdout.write(`skipped: ${program} is not installed\n`);
  return found;
}

/** Where nginx writes, in a folder of the test. */
export function nginxPaths(folder: string): string {
  return ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ');
}

/** Starts a program, and waits until it listens at `port`. */
export async function startProgram(
  program: string,
  options: readonly string[],
  port: number,
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ close(): Promise<void> }> {
  const child = spawn(program, options, { stdio: ['ignore', 'pipe', 'pipe'], env });
  const kill = (): boolean => child.kill('SIGKILL');
  // An aborted test leaves no process behind.
  process.once('exit', kill);
  let said = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk: Buffer) => (said += chunk.toString()));
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`${program} ended: ${said}`);
    await wait(20);
  }
  return {
    async close() {
      const ended = once(child, 'exit');
      kill();
      await ended;
      process.off('exit', kill);
    },
  };
}
