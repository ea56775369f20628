import { parseArgs } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import type { Command, Option, Options, Values } from './command.ts';
import { commands } from './commands.ts';
import { type ExitCode, print, UsageError } from './exit.ts';
import { commandHelp, helpOption, programHelp, programOptions, unknownCommand, unknownOption } from './help.ts';

/** Runs a command line; resolves when the command is done. */
export async function runCommand(argv: readonly string[]): Promise<ExitCode> {
  const [name, ...rest] = argv;
  if (name === '--help' || name === '-h') return print(programHelp(commands));
  if (name === '--version' || name === '-v') return print(`${packageJson.version}\n`);
  if (name === undefined) return misuse('a command is missing', 'sallyport help');
  if (name.startsWith('-')) return misuse(unknownOption(name, 'sallyport', programOptions), 'sallyport help');
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) return misuse(unknownCommand(name, commands), 'sallyport help');
  try {
    const { values, argument } = parsed(name, command, rest);
    if (values['help'] === true) return print(commandHelp(name, command));
    requireArgument(command, argument);
    return await command.run(argument, values, commands);
  } catch (error) {
    if (error instanceof UsageError) return misuse(error.message, `sallyport help ${name}`);
    throw error;
  }
}

/** The options and the argument of a command line. */
interface Parsed {
  readonly values: Values<Options>;
  readonly argument: string | undefined;
}

/** @throws {UsageError} for what the command does not take. */
function parsed(name: string, { argument, options: own }: Command, args: readonly string[]): Parsed {
  const table: Options = { ...own, help: helpOption };
  const options = Object.fromEntries(Object.entries(table).map(([long, option]) => [long, forParseArgs(option)]));
  const setup = { args: [...args], options, allowPositionals: true };
  for (const token of parseArgs({ ...setup, strict: false, tokens: true }).tokens) {
    if (token.kind !== 'option' || Object.hasOwn(table, token.name)) continue;
    throw new UsageError(unknownOption(token.rawName, name, table));
  }
  const { values, positionals } = parsedStrictly(setup);
  const odd = positionals.find((word, index) => index > 0 || !takes(argument, word));
  if (odd !== undefined) throw new UsageError(`${JSON.stringify(odd)} is not an argument of ${name}`);
  for (const [long, { oneOf }] of Object.entries(table)) {
    const value = values[long];
    if (oneOf === undefined || typeof value !== 'string' || oneOf.includes(value)) continue;
    throw new UsageError(`--${long}: ${JSON.stringify(value)} is not one of ${oneOf.join(', ')}`);
  }
  return { values: values as Values<Options>, argument: positionals[0] };
}

function forParseArgs({ value, short, default: preset }: Option) {
  const letter = short !== undefined && { short };
  if (value === undefined) return { type: 'boolean' as const, default: false, ...letter };
  return { type: 'string' as const, ...(preset !== undefined && { default: preset }), ...letter };
}

/** As `parseArgs`, but without its advice for programmers. */
function parsedStrictly(setup: NonNullable<Parameters<typeof parseArgs>[0]>) {
  try {
    return parseArgs(setup);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!code.startsWith('ERR_PARSE_ARGS_')) throw error;
    throw new UsageError((error as Error).message.split(/[.\n]/, 1)[0]);
  }
}

function takes(argument: Command['argument'], word: string): boolean {
  return argument !== undefined && (argument.oneOf === undefined || argument.oneOf.includes(word));
}

/** @throws {UsageError} if the argument is missing. */
function requireArgument({ argument }: Command, word: string | undefined): void {
  if (argument?.isRequired !== true || word !== undefined) return;
  const choice = argument.oneOf === undefined ? '' : `, one of ${argument.oneOf.join(', ')}`;
  throw new UsageError(`${argument.name} is missing: ${argument.does}${choice}`);
}

function misuse(what: string, hint: string): ExitCode {
  process.stderr.write(`sallyport: ${what}; see ${hint}\n`);
  return 2;
}
