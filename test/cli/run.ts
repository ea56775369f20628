import { runCommand } from '../../src/cli/run-command.ts';
import { outcome as ofProcess } from '../serve/process.ts';
import { printed } from '../support/secrecy.ts';

type Outcome = Awaited<ReturnType<typeof ofProcess>>;

const streams = ['stdout', 'stderr'] as const;
let last: Promise<unknown> = Promise.resolve();

/**
 * What a command writes and ends with. It runs in this process, after the one before it: starting Node takes longer than
 * most commands. A command that reads stdin gets a process of its own.
 */
export async function outcome(
  args: readonly string[],
  cwd = process.cwd(),
  start: { readonly env?: NodeJS.ProcessEnv; readonly stdin?: string } = {},
): Promise<Outcome> {
  if (start.stdin !== undefined || args.includes('-')) return ofProcess(args, cwd, start);
  const own = last.then(() => here(args, cwd, start.env));
  last = own.catch(() => {});
  return own;
}

async function here(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const said = { stdout: '', stderr: '' };
  const before = { cwd: process.cwd(), env: process.env };
  process.chdir(cwd);
  process.env = { ...process.env, ...env };
  for (const name of streams) process[name].write = (text: string | Uint8Array) => (said[name] += String(text)) !== '';
  try {
    return { code: await runCommand(args), ...said };
  } finally {
    // The method of the prototype is back.
    for (const name of streams) Reflect.deleteProperty(process[name], 'write');
    process.env = before.env;
    process.chdir(before.cwd);
    printed(`the output of ${args[0]}`, said.stdout + said.stderr);
  }
}
