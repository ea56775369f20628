import { parseArgs } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import { commands } from './commands.ts';
import { type ExitCode, UsageError } from './exit.ts';

/** Runs a command line; resolves when the command is done. */
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
    const { words } = command;
    const odd = positionals.find((word, index) => index > 0 || (words !== 'any' && !words.includes(word)));
    if (odd !== undefined) return misuse(`${JSON.stringify(odd)} is not an argument of ${name}`, hint);
    return await command.run(positionals[0], values);
  } catch (error) {
    if (error instanceof UsageError) return misuse(error.message, hint);
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!code.startsWith('ERR_PARSE_ARGS_')) throw error;
    // Node's message continues with advice for programmers.
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
  const list = Object.entries(commands).map(([name, { does }]) => `  ${name.padEnd(9)}${does}\n`);
  return `sallyport COMMAND [OPTIONS]: an authorization gateway for MCP servers and HTTP APIs

${list.join('')}
  --help, -h     this help, or the help of a command
  --version      the version of the program

Exit status: 0 done, 1 refused or failed, 2 wrong usage.
`;
}
