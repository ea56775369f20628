import { parseArgs } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import { check } from './check.ts';
import type { ExitCode } from './exit-code.ts';
import { printSchema } from './print-schema.ts';
import { serve } from './serve.ts';
import { testPolicies } from './test-policies.ts';

interface Command {
  /** One line for the list of commands. */
  readonly does: string;
  readonly usage: string;
  /** What `--help` says after the usage. */
  readonly help: string;
  /** Accepted positional arguments, at most one of them. */
  readonly words: readonly string[];
  readonly options: Readonly<Record<string, { readonly type: 'string' }>>;
  run(word: string | undefined, options: Readonly<Record<string, unknown>>): ExitCode | Promise<ExitCode>;
}

const config = { config: { type: 'string' } } as const;
const configHelp = '  --config FILE   the configuration; default: gateway.yaml\n';
const fileOf = ({ config }: Readonly<Record<string, unknown>>): string =>
  typeof config === 'string' ? config : 'gateway.yaml';

const commands: Readonly<Record<string, Command>> = {
  serve: {
    does: 'run the gateway',
    usage: 'sallyport serve [--config FILE]',
    help: `Runs the gateway until SIGTERM or SIGINT; a second signal ends it at once.\n\n${configHelp}`,
    words: [],
    options: config,
    run: (_word, options) => serve(fileOf(options)),
  },
  check: {
    does: 'check the configuration and its policies',
    usage: 'sallyport check [--config FILE]',
    help: `Loads the configuration and its policies, and prints everything that is wrong.\n\n${configHelp}`,
    words: [],
    options: config,
    run: (_word, options) => check(fileOf(options)),
  },
  test: {
    does: 'run the tests of the policies',
    usage: 'sallyport test [--config FILE]',
    help: `Decides what each NAME.test.yaml beside a policy describes, by the code that serves, and says what differs.\n\n${configHelp}`,
    words: [],
    options: config,
    run: (_word, options) => testPolicies(fileOf(options)),
  },
  schema: {
    does: 'print a JSON Schema, for editors',
    usage: 'sallyport schema [gateway|policy]',
    help: 'Prints the JSON Schema of gateway.yaml (the default) or of a policy.\n',
    words: ['gateway', 'policy'],
    options: {},
    run: (word) => printSchema(word === 'policy' ? 'policy' : 'gateway'),
  },
};

/** Runs what a command line asks for; resolves when it is done. */
export async function runCommand(argv: readonly string[]): Promise<ExitCode> {
  const [name, ...rest] = argv;
  if (name === '--help' || name === '-h') return print(programHelp());
  if (name === '--version') return print(`${packageJson.version}\n`);
  if (name === undefined) return misuse('a command is missing', 'sallyport --help');
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    const kind = name.startsWith('-') ? 'option' : 'command';
    return misuse(
      `${JSON.stringify(name)} is not ${kind === 'option' ? 'an option' : 'a command'}`,
      'sallyport --help',
    );
  }
  const hint = `sallyport ${name} --help`;
  try {
    const { values, positionals } = parseArgs({
      args: rest,
      options: { ...command.options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
    if (values.help === true) return print(`${command.usage}\n\n${command.help}`);
    const odd = positionals.find((word, index) => index > 0 || !command.words.includes(word));
    if (odd !== undefined) return misuse(`${JSON.stringify(odd)} is not an argument of ${name}`, hint);
    return await command.run(positionals[0], values);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!code.startsWith('ERR_PARSE_ARGS_')) throw error;
    // Node's message goes on with advice that is not about us.
    return misuse((error as Error).message.split(/[.\n]/, 1)[0] ?? '', hint);
  }
}

function print(text: string): ExitCode {
  process.stdout.write(text);
  return 0;
}

function misuse(what: string, hint: string): ExitCode {
  process.stderr.write(`sallyport: ${what}; see ${hint}\n`);
  return 2;
}

function programHelp(): string {
  const list = Object.entries(commands).map(([name, { does }]) => `  ${name.padEnd(8)}${does}\n`);
  return `sallyport COMMAND [OPTIONS]: an authorization gateway for MCP servers and HTTP APIs

${list.join('')}
  --help, -h     this, or after a command: about it
  --version      the version

Exit status: 0 done, 1 refused or failed, 2 wrong usage.
`;
}
