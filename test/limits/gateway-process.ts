import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { answering } from '../../bench/machine/process.ts';

/** The gateway as a process of its own, as operators run it. */
export interface GatewayProcess {
  readonly pid: number;
  /** The number of time series of `/metrics`. */
  series(): Promise<number>;
  /** Resolves when the process has ended. */
  stop(): Promise<void>;
}

const main = fileURLToPath(new URL('../../bin/sallyport.js', import.meta.url));

/** Starts a gateway with a configuration file. */
export async function startGateway(file: string, adminUrl: string): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [main, 'serve', '--config', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  await answering(`${adminUrl}/readyz`);
  return {
    pid: child.pid ?? 0,
    async series() {
      const page = await (await fetch(`${adminUrl}/metrics`)).text();
      return page.split('\n').filter((line) => /^[a-z]/.test(line)).length;
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
