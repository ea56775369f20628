import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { signIn } from '../../demo/browser.ts';
import type { ScriptedModel } from './scripted-model.ts';

/** What a client did, as the gateway and the front door saw it. */
export const steps = ['signed in', 'listed', 'called', 'stepped up', 'refreshed'] as const;

/** One of {@link steps}. */
export type Step = (typeof steps)[number];

/** What a program meets. */
interface Place {
  /** The MCP server's URL. */
  readonly url: string;
  /** The front door. */
  readonly issuer: string;
  /** Its working directory, and its home. */
  readonly folder: string;
  readonly model: ScriptedModel;
  /** The path of an installed file, below `node_modules`. */
  installed(path: string): string;
}

/** A client as npm has it, which a person starts on a command line. */
export interface Program {
  /** Its name in the table of known clients, where it has one. */
  readonly name: string;
  readonly packages: readonly string[];
  /** Lists the tools, calls `list_accounts`, then `transfer_funds`, which needs another scope, as far as it can. */
  walk(place: Place): Promise<void>;
  /** What it is expected to do. */
  readonly does: readonly Step[];
  /** Why it does not do the rest, or how its user makes it. */
  readonly note?: string;
}

/** The arguments of `transfer_funds`. */
const amount = { from: 'savings', to: 'trading', amount: 10 };

/** The programs that start without a graphical screen. */
export const programs: readonly Program[] = [
  {
    name: 'codex',
    packages: ['@openai/codex'],
    does: ['signed in', 'listed', 'called', 'stepped up'],
    note: 'reports a 403 as "Insufficient scope"; its user signs in again with `codex mcp login --scopes read,payments`',
    async walk(place) {
      const codex = place.installed('@openai/codex/bin/codex.js');
      await run(place, [process.execPath, codex, 'mcp', 'add', 'tools', '--url', place.url]);
      await codexCalls(place, codex, [
        ['list_accounts', {}],
        ['transfer_funds', amount],
      ]);
      await run(place, [process.execPath, codex, 'mcp', 'login', 'tools', '--scopes', 'read,payments']);
      await codexCalls(place, codex, [['transfer_funds', amount]]);
    },
  },
  {
    name: 'claude-code',
    packages: ['@anthropic-ai/claude-code-linux-x64'],
    does: steps,
    note: 'its user signs in again with `claude mcp login`, which then asks for the scope of the 403',
    async walk(place) {
      const claude = place.installed('@anthropic-ai/claude-code-linux-x64/claude');
      await run(place, [claude, 'mcp', 'add', '--transport', 'http', 'tools', place.url]);
      await run(place, inTerminal([claude, 'mcp', 'login', '--no-browser', 'tools']));
      const call = async (name: string, input: object): Promise<void> => {
        place.model.call = { name, input };
        await run(place, [claude, '--print', 'go', '--allowedTools', `mcp__tools__${name}`], {
          ANTHROPIC_BASE_URL: place.model.url,
          ANTHROPIC_API_KEY: 'none',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          ENABLE_TOOL_SEARCH: 'false',
        });
      };
      await call('list_accounts', {});
      await call('transfer_funds', amount);
      await run(place, inTerminal([claude, 'mcp', 'login', '--no-browser', 'tools']));
      await call('transfer_funds', amount);
    },
  },
  {
    name: 'inspector',
    packages: ['@modelcontextprotocol/inspector'],
    does: ['signed in', 'listed', 'called', 'refreshed'],
    note: '2.12.0 does not ask for the scope of a 403 on the command line; the page in the browser does',
    async walk(place) {
      const inspector = place.installed('@modelcontextprotocol/inspector/clients/launcher/build/index.js');
      const command = [process.execPath, inspector, '--cli', '--server-url', place.url, '--transport', 'http'];
      const settings = { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' };
      const call = (name: string, input: object): Promise<string> =>
        run(
          place,
          [...command, '--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(input)],
          settings,
        );
      await run(place, [...command, '--method', 'tools/list'], settings);
      await call('list_accounts', {});
      await call('transfer_funds', amount);
    },
  },
  {
    name: 'opencode',
    packages: ['opencode-linux-x64'],
    does: ['signed in', 'listed'],
    note: 'it calls tools only for a model of a provider whose package it loads from the network',
    async walk(place) {
      const opencode = place.installed('opencode-linux-x64/bin/opencode');
      const mcp = { tools: { type: 'remote', url: place.url } };
      await writeFile(join(place.folder, 'opencode.json'), JSON.stringify({ mcp }));
      await run(place, [opencode, 'mcp', 'auth', 'tools']);
      await run(place, [opencode, 'mcp', 'list']);
    },
  },
];

/** A program that wants a terminal. */
function inTerminal(command: readonly string[]): readonly string[] {
  return ['script', '-qec', command.join(' '), '/dev/null'];
}

/** Enough for a program on a busy machine. */
const PATIENCE_MS = 90_000;

/** Runs a program to its end. A person signs in at each address of the front door that it prints. Returns its output. */
async function run(
  place: Place,
  [program = '', ...options]: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = spawn(program, options, {
    cwd: place.folder,
    env: environment(place, settings),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: PATIENCE_MS,
  });
  const visited = new Set<string>();
  let output = '';
  const read = (chunk: Buffer): void => {
    output += chunk.toString();
    for (const [address] of output.matchAll(/http:[\w:/.]+\/authorize\?[\w=&%.+~-]+(?=[^\w=&%.+~-])/g)) {
      if (visited.has(address) || !address.startsWith(place.issuer)) continue;
      visited.add(address);
      void visit(address);
    }
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  await once(child, 'close');
  await writeFile(join(place.folder, 'output.log'), `${options.join(' ')}\n${output}\n`, { flag: 'a' });
  return output;
}

/** A person at the address that a program shows. */
async function visit(address: string): Promise<void> {
  const back = await signIn({ authorizationUrl: address, user: '' });
  const response = await fetch(back);
  await response.body?.cancel();
}

/** What a program finds: nothing of the person who runs this, and no browser. */
function environment({ folder }: Place, settings: Readonly<Record<string, string>>): Record<string, string> {
  return { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folder, BROWSER: 'none', TERM: 'xterm', ...settings };
}

/** Calls tools through Codex, which has a command for programs that needs no model. */
async function codexCalls(
  place: Place,
  codex: string,
  calls: readonly (readonly [tool: string, input: object])[],
): Promise<void> {
  const child = spawn(process.execPath, [codex, 'app-server'], {
    cwd: place.folder,
    env: environment(place, {}),
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: PATIENCE_MS,
  });
  const answers = new Map<number, (answer: Answer) => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = JSON.parse(line) as Answer;
    if (answer.id !== undefined) answers.get(answer.id)?.(answer);
  });
  let id = 0;
  const ask = (method: string, params: object): Promise<Answer> => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    answers.set((id += 1), resolve);
    child.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    return promise;
  };
  await ask('initialize', { clientInfo: { name: 'sallyport', version: '1.0.0' } });
  const { result } = await ask('thread/start', { cwd: place.folder });
  for (const [tool, input] of calls) {
    await ask('mcpServer/tool/call', { server: 'tools', threadId: result?.thread.id, tool, arguments: input });
  }
  child.kill();
  await once(child, 'close');
}

interface Answer {
  readonly id?: number;
  readonly result?: { readonly thread: { readonly id: string } };
}
