import { parseArgs } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import type { Command, Option, Options, Values } from '../capabilities/command.ts';
import { commands } from './commands.ts';
import { type ExitCode, Failure, print, reportProblems, UsageError } from '../capabilities/terminal.ts';
import { leadRequests } from '../capabilities/all.ts';
import { printable } from '../core/lib/wording.ts';
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
  let values: Values<Options> = {};
  try {
    const line = parsed(name, command, rest);
    ({ values } = line);
    if (values['help'] === true) return print(commandHelp(name, command));
    requireArgument(command, line.argument);
    // A command without a configuration calls servers too. One with its own `egress` replaces this.
    await leadRequests(undefined);
    return await command.run(line.argument, values, commands, line.more);
  } catch (error) {
    if (error instanceof UsageError) return misuse(error.message, `sallyport help ${name}`);
    if (isFileError(error)) {
      process.stderr.write(`sallyport: ${printable(error.message)}\n`);
      return 1;
    }
    if (!(error instanceof Failure)) return reportProblems(String(values['config']), error);
    process.stderr.write(`${error.program}: ${error.message}\n`);
    return 1;
  }
}

/** Whether a file that the operator named cannot be read or written: `ENOTDIR: not a directory, mkdir 'a/b'`. */
function isFileError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

interface Parsed {
  readonly values: Values<Options>;
  readonly argument: string | undefined;
  readonly more: readonly string[];
}

/** @throws {UsageError} for what the command does not take. */
function parsed(name: string, { argument, options: own }: Command, args: readonly string[]): Parsed {
  const table: Options = { ...own, help: helpOption };
  const options = Object.fromEntries(Object.entries(table).map(([long, option]) => [long, forParseArgs(option)]));
  const found = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true });
  for (const token of found.tokens) if (token.kind === 'option') requireForm(token, name, table);
  const { values, positionals } = found;
  const most = argument?.isRepeated === true ? Infinity : argument?.second === undefined ? 1 : 2;
  const odd = positionals.find(
    (word, index) => index >= most || (!(index > 0 && argument?.second !== undefined) && !takes(argument, word)),
  );
  if (odd !== undefined)
    throw new UsageError(`${JSON.stringify(odd)} is not an argument of ${name}${hintFor(odd, table)}`);
  for (const [long, { oneOf }] of Object.entries(table)) {
    const value = values[long];
    if (oneOf === undefined || typeof value !== 'string' || oneOf.includes(value)) continue;
    throw new UsageError(`--${long}: ${JSON.stringify(value)} is not one of ${oneOf.join(', ')}`);
  }
  return { values: values as Values<Options>, argument: positionals[0], more: positionals.slice(1) };
}

function forParseArgs({ value, short, default: preset, isRepeated }: Option) {
  const letter = short !== undefined && { short };
  if (value === undefined) return { type: 'boolean' as const, default: false, ...letter };
  if (isRepeated === true) return { type: 'string' as const, multiple: true, default: [], ...letter };
  return { type: 'string' as const, ...(preset !== undefined && { default: preset }), ...letter };
}

interface Written {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

/** @throws {UsageError} for an option that the command does not have, without its value, or with a value too many. */
function requireForm({ name, rawName, value, inlineValue }: Written, command: string, table: Options): void {
  const option = Object.hasOwn(table, name) ? table[name] : undefined;
  if (option === undefined) throw new UsageError(unknownOption(rawName, command, table));
  if (option.value === undefined) {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`);
    return;
  }
  // What looks like the next option is no value, unless the same word has both: --scope=-x.
  const isMissing = value === undefined || (inlineValue !== true && /^-./.test(value));
  const choice = option.oneOf === undefined ? '' : `, one of ${option.oneOf.join(', ')}`;
  if (isMissing) throw new UsageError(`${rawName} needs a value: ${rawName} ${option.value}${choice}`);
}

/** A hint for a word that is no argument: the configuration is an option. */
function hintFor(word: string, options: Options): string {
  return 'config' in options && /\.ya?ml$/.test(word) ? `; write --config ${word}` : '';
}

function takes(argument: Command['argument'], word: string): boolean {
  return argument !== undefined && (argument.oneOf === undefined || argument.oneOf.includes(word));
}

function requireArgument({ argument }: Command, word: string | undefined): void {
  if (argument?.isRequired !== true || word !== undefined) return;
  const choice = argument.oneOf === undefined ? '' : `, one of ${argument.oneOf.join(', ')}`;
  throw new UsageError(`${argument.name} is missing: ${argument.does}${choice}`);
}

function misuse(what: string, hint: string): ExitCode {
  process.stderr.write(`sallyport: ${what}; see ${hint}\n`);
  return 2;
}
