import { command, configOption, type CommandKit, type Commands, type Options } from '../command.ts';

export const lockOptions = {
  check: { does: 'writes nothing; prints what differs, and exits with 1 if anything does' },
  token: {
    value: '-',
    does: 'asks for the caller whose access token is on stdin, with the credential of the route',
  },
  route: { value: 'NAME', does: 'only the policy of this route' },
  config: configOption,
} as const satisfies Options;

const about = `
For each policy with the key lock, asks the MCP server of its route for its tools, prompts and instructions,
and writes policies/NAME.lock.yaml. Review the difference before you deploy it. The server sees no caller, or with
--token the caller of that token, as the route presents callers to it.
`;

/** The command of locks. Its code is loaded when it runs. */
export function lockCommands(kit: CommandKit): Commands {
  return {
    lock: command({
      does: 'approve the tools, prompts and instructions of MCP servers',
      about: about.trim(),
      options: lockOptions,
      examples: ['lock', 'lock --check', 'lock --route tools --token - < token.txt'],
      run: async (_, values) => (await import('./lock-command.ts')).lock(values, kit),
    }),
  };
}
