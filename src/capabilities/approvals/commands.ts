import { command, type CommandKit, type Commands, configOption, type Options } from '../command.ts';

export const approvalOptions = {
  follow: { does: 'goes on, and prints what changes' },
  json: { does: 'prints JSON, a line each' },
  admin: { value: 'URL', does: 'the admin listener; default: `admin` of the configuration' },
  config: configOption,
} as const satisfies Options;

const about = `
Prints the requests for approvals that a running gateway keeps, or decides on one of them. It asks the
gateway at its admin listener, with admin.token or SALLYPORT_ADMIN_TOKEN, on loopback too.
`;

/** The command of approvals. Its code is loaded when it runs. */
export function approvalCommands(kit: CommandKit): Commands {
  return {
    approvals: command({
      does: 'show and decide what waits for an approval at a running gateway',
      about: about.trim(),
      argument: {
        name: 'DECISION',
        does: 'decides on the request with this ID instead',
        oneOf: ['approve', 'deny', 'withdraw'],
        second: 'ID',
      },
      options: approvalOptions,
      examples: ['approvals', 'approvals --follow --json', 'approvals approve 3q2-7w...'],
      run: async (decision, values, _, [id]) =>
        (await import('./approvals-command.ts')).approvals({ decision, id }, values, kit),
    }),
  };
}
