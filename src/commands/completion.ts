/**
 * Scripts that complete a command line: commands, options, words of a closed set, and paths. All come from the table of
 * commands, and hold only what it says: names without spaces and quotes, which a test checks.
 *
 * @module
 */

import { quotedWord } from './shell-words.ts';
import type { Argument, Command, Commands, Option } from '../capabilities/command.ts';
import { helpOption, programOptions } from './help.ts';

/** The completion script of each shell, for a table of commands. */
export const completionScripts = { bash, zsh, fish } as const satisfies Record<string, (all: Commands) => string>;

type OptionEntry = readonly [name: string, option: Option];

function optionsOf({ options }: Command): readonly OptionEntry[] {
  return Object.entries({ ...options, help: helpOption });
}

/** An option as typed: `--config`, and `-c` if it has a short form. */
function written([name, { short }]: OptionEntry): readonly string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
}

function namesOf(options: readonly OptionEntry[]): string {
  return options.map(([name]) => `--${name}`).join(' ');
}

function wordsOf(name: string, { argument }: Command, all: Commands): readonly string[] {
  return name === 'help' ? Object.keys(all) : (argument?.oneOf ?? []);
}

function bash(all: Commands): string {
  const cases = Object.entries(all).map(([name, command]) => bashCase(name, command, wordsOf(name, command, all)));
  const first = [...Object.keys(all), namesOf(Object.entries(programOptions))].join(' ');
  return `# bash completion of sallyport; in ~/.bashrc: source <(sallyport completion bash)
_sallyport() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}
  local words='' paths=''
  # bash splits --config=FILE at the equals sign.
  if [[ $current == '=' ]]; then current=''
  elif [[ $previous == '=' ]]; then previous=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  if ((COMP_CWORD == 1)); then command=''; words='${first}'; fi
  case $command in
${cases.join('')}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [[ -n $paths && $current != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _sallyport sallyport
`;
}

function bashCase(name: string, command: Command, words: readonly string[]): string {
  const options = optionsOf(command);
  const paths = command.argument?.isPath === true ? 'paths=yes ' : '';
  const branches = [...bashValues(options), `*) ${paths}words='${[namesOf(options), ...words].join(' ')}' ;;`];
  return `    ${name}) case $previous in\n${branches.map((line) => `      ${line}\n`).join('')}    esac ;;\n`;
}

/** A branch for each option with a value: paths, words of a closed set, or nothing. */
function bashValues(options: readonly OptionEntry[]): readonly string[] {
  return options
    .filter(([, { value }]) => value !== undefined)
    .map((entry) => {
      const [, { isPath, oneOf }] = entry;
      const words = oneOf === undefined ? '' : `words='${oneOf.join(' ')}' `;
      return `${written(entry).join('|')}) ${isPath === true ? 'paths=yes ' : words};;`;
    });
}

function zsh(all: Commands): string {
  const list = Object.entries(all).map(([name, { does }]) => `    ${quotedWord(`${name}:${does}`)}\n`);
  const cases = Object.entries(all).map(([name, command]) => zshCase(name, command, wordsOf(name, command, all)));
  return `#compdef sallyport
# zsh completion of sallyport; in ~/.zshrc, after compinit: source <(sallyport completion zsh)
_sallyport() {
  local -a commands
  commands=(
${list.join('')}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    compadd -- ${namesOf(Object.entries(programOptions))}
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT -= 1 ))
  case $command in
${cases.join('')}  esac
}
if [[ $funcstack[1] == _sallyport ]]; then _sallyport "$@"; else compdef _sallyport sallyport; fi
`;
}

function zshCase(name: string, command: Command, words: readonly string[]): string {
  const specs = [...optionsOf(command).flatMap(zshOption), ...zshArgument(command.argument, words)];
  return `    ${name}) _arguments -s ${specs.map((spec) => `\\\n      ${quotedWord(spec)}`).join(' ')} ;;\n`;
}

function zshOption(entry: OptionEntry): readonly string[] {
  const [, { value, does }] = entry;
  const forms = written(entry);
  const others = forms.length > 1 ? `(${forms.join(' ')})` : '';
  const argument = value === undefined ? '' : `:${value}:${zshValues(entry[1])}`;
  return forms.map((form) => {
    const ending = value !== undefined && form.startsWith('--') ? '=' : '';
    return `${others}${form}${ending}[${escapedBrackets(does)}]${argument}`;
  });
}

function zshArgument(argument: Argument | undefined, words: readonly string[]): readonly string[] {
  if (argument === undefined) return [];
  return [`1:${argument.name}:${zshValues({ ...argument, oneOf: words })}`];
}

function zshValues({ isPath, oneOf = [] }: Pick<Option, 'isPath' | 'oneOf'>): string {
  if (isPath === true) return '_files';
  return oneOf.length === 0 ? ' ' : `(${oneOf.join(' ')})`;
}

/** In a specification of `_arguments`, brackets and colons have a meaning. */
function escapedBrackets(text: string): string {
  return text.replaceAll(/[[\]:\\]/g, (character) => `\\${character}`);
}

function fish(all: Commands): string {
  const lines = Object.entries(all).flatMap(([name, command]) => fishLines(name, command, wordsOf(name, command, all)));
  return `# fish completion of sallyport: sallyport completion fish > ~/.config/fish/completions/sallyport.fish
complete -c sallyport -f
${Object.entries(programOptions)
  .map((option) => `complete -c sallyport -n '__fish_is_nth_token 1' ${fishOption(option)}\n`)
  .join('')}${lines.join('\n')}
`;
}

function fishLines(name: string, command: Command, words: readonly string[]): readonly string[] {
  const within = `complete -c sallyport -n '__fish_seen_subcommand_from ${name}; and not __fish_is_nth_token 1'`;
  return [
    `complete -c sallyport -n '__fish_is_nth_token 1' -a ${name} -d ${quotedWord(command.does)}`,
    ...optionsOf(command).map((option) => `${within} ${fishOption(option)}`),
    ...(words.length === 0 ? [] : [`${within} -a '${words.join(' ')}'`]),
    ...(command.argument?.isPath === true ? [`${within} -F`] : []),
  ];
}

function fishOption([name, { short, value, oneOf, isPath, does }]: OptionEntry): string {
  const parts = [
    `-l ${name}`,
    ...(short === undefined ? [] : [`-s ${short}`]),
    ...(value === undefined ? [] : ['-x']),
    ...(oneOf === undefined ? [] : [`-a '${oneOf.join(' ')}'`]),
    `-d ${quotedWord(does)}`,
  ];
  const line = parts.join(' ');
  return isPath === true ? line.replace(' -x', ' -r -F') : line;
}
