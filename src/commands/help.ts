import { didYouMean } from '../core/lib/wording.ts';
import type { Argument, Command, Commands, Option } from '../capabilities/command.ts';

/** The option that each command takes besides its own. */
export const helpOption = { short: 'h', does: 'this help' } as const satisfies Option;

/** The options that the program takes instead of a command. */
export const programOptions = {
  help: { short: 'h', does: 'this help, or the help of a command' },
  version: { short: 'v', does: 'the version of the program' },
} as const satisfies Readonly<Record<string, Option>>;

/** The list of commands. */
export function programHelp(commands: Commands): string {
  const rows = Object.entries(commands).map(([name, { does }]) => [name, does] as const);
  return `sallyport COMMAND [OPTIONS]: an authorization gateway for MCP servers and HTTP APIs

${aligned(rows)}
${aligned(optionRows(programOptions))}
Exit status: 0 done, also if explain shows a denial; 1 failed, or found something wrong; 2 wrong usage.
`;
}

/** The help of one command: usage, options, examples. */
export function commandHelp(name: string, { about, argument, options, examples }: Command): string {
  const rows = [
    ...(argument === undefined ? [] : [[argument.name, argumentText(argument)] as const]),
    ...optionRows({ ...options, help: helpOption }),
  ];
  return `${['sallyport', name, ...usageOf(argument), '[OPTIONS]'].join(' ')}

${about}

${aligned(rows)}
Examples:
${examples.map((example) => `  sallyport ${example}\n`).join('')}`;
}

/** The message for a word that is no command, with the nearest one. */
export function unknownCommand(name: string, commands: Commands): string {
  return `${JSON.stringify(name)} is not a command${suggestion(name, Object.keys(commands))}`;
}

/** The message for an option that a command does not have, with the nearest one. */
export function unknownOption(written: string, owner: string, options: Readonly<Record<string, Option>>): string {
  const names = Object.keys(options).map((name) => `--${name}`);
  return `${JSON.stringify(written)} is not an option of ${owner}${suggestion(written, names)}`;
}

/** The shortest beginning that is completed: fewer characters begin too much. */
const MIN_BEGINNING = 2;

/** The nearest of `words`: the only one that begins as `written` does, or one with few typing errors. */
function suggestion(written: string, words: readonly string[]): string {
  const begun = words.filter((word) => word.startsWith(written));
  const isLong = written.replace(/^-+/, '').length >= MIN_BEGINNING;
  const nearest = isLong && begun.length === 1 ? begun[0] : didYouMean(written, words);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}

function usageOf(argument: Argument | undefined): readonly string[] {
  if (argument === undefined) return [];
  const { name: first, second, isRepeated } = argument;
  const name = isRepeated === true ? `${first}…` : second === undefined ? first : `${first} ${second}`;
  return [argument.isRequired === true ? name : `[${name}]`];
}

function argumentText({ does, oneOf }: Argument): string {
  return oneOf === undefined ? does : `${does}: ${oneOf.join(', ')}`;
}

type HelpRow = readonly [written: string, does: string];

function optionRows(options: Readonly<Record<string, Option>>): readonly HelpRow[] {
  return Object.entries(options).map(([name, option]) => {
    const short = option.short === undefined ? '    ' : `-${option.short}, `;
    const value = option.value === undefined ? '' : ` ${option.value}`;
    const preset = option.default === undefined ? '' : `; default: ${option.default}`;
    const only = option.oneOf === undefined ? '' : `: ${option.oneOf.join(', ')}`;
    return [`${short}--${name}${value}`, `${option.does}${only}${preset}`];
  });
}

function aligned(rows: readonly HelpRow[]): string {
  const width = Math.max(...rows.map(([written]) => written.length));
  return rows.map(([written, does]) => `  ${written.padEnd(width)}  ${does}\n`).join('');
}
