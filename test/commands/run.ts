import { Readable } from 'node:stream';
import { WriteStream } from 'node:tty';
import { runCommand } from '../../src/commands/run-command.ts';
import { folderWith, type Situation } from '../serve/config/folder.ts';
import { printed } from '../support/secrecy.ts';

/** What is different from a command without input whose output is piped. */
interface Start {
  /** Added to the environment; undefined removes a variable. */
  readonly env?: NodeJS.ProcessEnv;
  /** What it reads from stdin; default: nothing. */
  readonly stdin?: string;
  /** Whether its output is a terminal of 100 columns. */
  readonly isTerminal?: boolean;
}

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const terminal = {
  isTTY: true,
  columns: 100,
  getColorDepth: (env?: object): number => WriteStream.prototype.getColorDepth(env),
};
const terminalEnv = { TERM: 'xterm-256color', CI: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined };
let last: Promise<unknown> = Promise.resolve();

/**
 * What a command writes and ends with. It runs in this process, after the one before it: starting Node takes longer than
 * most commands.
 */
export async function outcome(args: readonly string[], cwd = process.cwd(), start: Start = {}): Promise<Outcome> {
  const own = last.then(() => here(args, cwd, start));
  last = own.catch(() => {});
  return own;
}

/** The same in a folder with the files of a situation. */
export async function outcomeIn(situation: Situation, args: readonly string[], start?: Start): Promise<Outcome> {
  return outcome(args, await folderWith(situation), start);
}

async function here(args: readonly string[], cwd: string, { env, stdin, isTerminal }: Start): Promise<Outcome> {
  const said = { stdout: '', stderr: '' };
  const before = { cwd: process.cwd(), env: process.env };
  const restored = [
    replaced(process, { stdin: Readable.from(stdin === undefined ? [] : [Buffer.from(stdin)]) }),
    ...(['stdout', 'stderr'] as const).map((name) => {
      const write = (text: string | Uint8Array): boolean => (said[name] += String(text)) !== '';
      return replaced(process[name], { write, ...(isTerminal === true && terminal) });
    }),
  ];
  process.chdir(cwd);
  const variables = Object.entries({ ...process.env, ...(isTerminal === true && terminalEnv), ...env });
  process.env = Object.fromEntries(variables.filter(([, value]) => value !== undefined));
  try {
    return { code: await runCommand(args), ...said };
  } finally {
    for (const restore of restored) restore();
    process.env = before.env;
    process.chdir(before.cwd);
    // Only this one prints a token: it is what was asked for.
    printed(`the output of ${args[0]}`, args[0] === 'token' ? said.stderr : said.stdout + said.stderr);
  }
}

/** Gives an object other properties, until the returned function is called. */
function replaced(target: object, properties: Readonly<Record<string, unknown>>): () => void {
  const before = Object.keys(properties).map((name) => [name, Object.getOwnPropertyDescriptor(target, name)] as const);
  for (const [name, value] of Object.entries(properties)) {
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
  }
  return () => {
    for (const [name, descriptor] of before) {
      if (descriptor === undefined) Reflect.deleteProperty(target, name);
      else Object.defineProperty(target, name, descriptor);
    }
  };
}
