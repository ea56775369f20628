/** @module The form of a command in the table of commands, from which parsing, help and completion come. */

import type { Files } from '../core/config/files.ts';
import type { Config, PolicyFolder } from '../ports/config.ts';
import type { Route } from '../core/model/route.ts';
import type { ExitCode } from './terminal.ts';

/** An option of a command. With `value` it takes one; without, it is a switch. */
export interface Option {
  /** One letter: `c` for `-c`. */
  readonly short?: string;
  /** The name of its value in the help, such as `FILE`. */
  readonly value?: string;
  readonly default?: string;
  /** Whether it may be given several times, each with a value. */
  readonly isRepeated?: true;
  readonly does: string;
  /** The only values that it takes. */
  readonly oneOf?: readonly string[];
  /** Whether its value is a path, for completion. */
  readonly isPath?: true;
}

/** Options by their long names. */
export type Options = Readonly<Record<string, Option>>;

/** The one positional argument of a command. */
export interface Argument {
  /** Its name in the help, such as `FILE`. */
  readonly name: string;
  readonly does: string;
  readonly isRequired?: true;
  /** Whether there may be several. */
  readonly isRepeated?: true;
  /** The name of a second word that may follow it. */
  readonly second?: string;
  /** The only words that it can be. */
  readonly oneOf?: readonly string[];
  readonly isPath?: true;
}

/** The values of options, by their long names: a text, several, or whether a switch is set. */
export type Values<Table extends Options> = {
  readonly [Name in keyof Table]: Table[Name] extends { readonly isRepeated: true }
    ? readonly string[]
    : Table[Name] extends { readonly default: string }
      ? string
      : Table[Name] extends { readonly oneOf: readonly (infer Word)[] }
        ? Word | undefined
        : Table[Name] extends { readonly value: string }
          ? string | undefined
          : boolean;
};

/** A command of the program. Its modules are loaded when it runs, so that a gateway starts fast. */
export interface Command<Table extends Options = Options> {
  /** One line for the list of commands. */
  readonly does: string;
  /** What the help says between the usage and the options. */
  readonly about: string;
  /** Undefined: the command takes no argument. */
  readonly argument?: Argument;
  readonly options: Table;
  /** Command lines without the name of the program. */
  readonly examples: readonly string[];
  /**
   * @param all The table itself, for the commands that describe it.
   * @param more Further arguments, of a command that takes several.
   */
  run(
    argument: string | undefined,
    values: Values<Table>,
    all: Commands,
    more: readonly string[],
  ): ExitCode | Promise<ExitCode>;
}

/** Commands by their names, in the order of the help. */
export type Commands = Readonly<Record<string, Command>>;

/** A row of the table: lets the compiler derive the values that `run` gets from the options. */
export function command<const Table extends Options>(row: Command<Table>): Command<Table> {
  return row;
}

/** `--config`. */
export const configOption = {
  short: 'c',
  value: 'FILE',
  default: 'gateway.yaml',
  does: 'the configuration',
  isPath: true,
} as const satisfies Option;

/** What a command of a capability uses of the gateway. */
export interface CommandKit {
  /** Reads a configuration. @param source Where its files are read from; default: the disk. @throws {ConfigError} */
  load(
    file: string,
    env?: NodeJS.ProcessEnv,
    source?: Files,
  ): Promise<{ readonly config: Config; readonly policyFolder: PolicyFolder }>;
  /** The header fields by which a route presents the caller of a token to its upstream. @throws {Denial} */
  callerFields(token: string, route: Route, config: Config): Promise<Headers>;
  /** The access of an operator to a running gateway. @throws {Failure} without a token, or without a listener. */
  operator(
    command: string,
    options: { readonly config: string; readonly admin: string | undefined },
  ): Promise<OperatorAccess>;
}

/** Asks a running gateway at its admin listener. */
export interface OperatorAccess {
  /** The command, for messages. */
  readonly program: string;
  /** GET, or POST with a body. @throws {Failure} without an answer. */
  answer(path: string, body?: object): Promise<Response>;
  /** {@link answer}. @throws {Failure} for another status than a successful one. */
  ask(path: string, body?: object): Promise<Response>;
  /** DELETE. @throws {Failure} for another status than a successful one. */
  delete(path: string): Promise<Response>;
  /** The response if it is successful. @throws {Failure} */
  success(response: Response): Promise<Response>;
}
