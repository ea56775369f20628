import { capabilities } from '../capabilities/all.ts';
import { command, type CommandKit, type Commands } from '../capabilities/command.ts';
import { options } from './options.ts';
import { processesOf } from './processes.ts';
import { print, UsageError } from '../capabilities/terminal.ts';

/** What commands of capabilities use of the gateway. */
export const kit: CommandKit = {
  load: async (...files) => (await import('../serve/config/load.ts')).load(...files),
  callerFields: async (...caller) => (await import('../serve/gateway/caller.ts')).callerFields(...caller),
  operator: async (...access) => (await import('./operator.ts')).operatorAccess(...access),
};

/** The commands that belong to no capability. */
const own: Commands = {
  init: command({
    does: 'write a configuration to begin with',
    about: `Writes gateway.yaml, a policy and its tests, all with comments. It never overwrites a file. With
--client and an existing gateway.yaml, it only prints.`,
    argument: { name: 'DIR', does: 'the folder to write to; default: the current one', isPath: true },
    options: options.init,
    examples: [
      'init',
      'init --upstream http://127.0.0.1:3001/mcp --issuer https://login.example.com --opaque',
      'init --front-door --issuer https://login.example.com',
      'init --client vscode',
      'init gateway --compose',
    ],
    run: async (folder = '.', values) => (await import('./init/init.ts')).init(folder, values),
  }),
  serve: command({
    does: 'run the gateway',
    about: `Runs the gateway until SIGTERM or SIGINT. Requests then finish, and streams get 10 s; a second signal ends
it at once. An edit of the configuration or its policies is in force as soon as it is saved, or on SIGHUP.`,
    options: options.serve,
    examples: ['serve', 'serve --workers auto'],
    run: async (_, values) => (await import('./serve.ts')).serve(values.config, processesOf(values)),
  }),
  'front-door': command({
    does: 'run the front door alone',
    about: `Runs only the front door, in a container or on a host of its own. Run the gateway by serve
--without-front-door then. It needs session_key, from which both derive the secret that the gateway
authenticates with.`,
    options: options['front-door'],
    examples: ['front-door', 'front-door --metrics 127.0.0.1:9091', 'front-door --clients'],
    async run(_, { config: file, metrics, clients }) {
      if (clients) return print((await import('./check.ts')).knownClientsText());
      return (await import('./front-door.ts')).frontDoor(file, metrics);
    },
  }),
  check: command({
    does: 'check the configuration and its policies',
    about: `Loads the configuration, its policies and their tests. Prints every problem, and a warning for what is legal
and probably wrong.`,
    options: options.check,
    examples: ['check', 'check --strict --config staging/gateway.yaml', 'check --workers 4'],
    async run(_, values) {
      return (await import('./check.ts')).check(values.config, values.strict, processesOf(values));
    },
  }),
  doctor: command({
    does: 'examine a deployment: public URL, servers, upstreams, certificates',
    about: `Looks at everything that the configuration needs, from this machine, and prints one line for each finding:
ok, warn or fail, with the remedy. It changes nothing and calls no tool.`,
    options: options.doctor,
    examples: ['doctor', 'doctor --client claude', 'doctor --token - --route tools < token.txt'],
    run: async (_, values) => (await import('./doctor/doctor.ts')).doctor(values),
  }),
  test: command({
    does: 'run the tests of the policies',
    about: `Runs the tests in each NAME.test.yaml beside a policy, with the code that serves requests. Prints each
failure, and how many rules the tests decide.`,
    argument: { name: 'TEXT', does: 'runs only tests with TEXT in the policy or the name' },
    options: options.test,
    examples: ['test', 'test payments --watch', 'test --junit report.xml --require-coverage'],
    run: async (filter, values) => (await import('./test-policies.ts')).testPolicies({ ...values, filter }),
  }),
  explain: command({
    does: 'explain the decision on a call',
    about: `Shows the decision on a call, by the code that serves requests, and what each condition wanted and found.
Describe the call and its caller, or name a logged decision.`,
    options: options.explain,
    examples: [
      `explain --route tools --tool pay --scope read --claims '{"role":"trader"}'`,
      'explain --route tools --token - < token.txt',
      'explain --decision ID --log decisions.jsonl',
    ],
    run: async (_, values) => (await import('./explain.ts')).explain(values),
  }),
  replay: command({
    does: 'decide a log again with edited policies',
    about: `Decides the calls of a decision log again, with the code that serves requests. Prints what would change, and
for which callers.`,
    argument: { name: 'FILE', does: 'the decision log, JSON lines; - reads stdin', isRequired: true, isPath: true },
    options: options.replay,
    examples: ['replay decisions.jsonl', 'replay decisions.jsonl --policies edited --json'],
    run: async (log = '', values) => (await import('./replay.ts')).replay(log, values),
  }),
  learn: command({
    does: 'write a policy from a log',
    about: `Writes a policy that allows what a decision log shows as allowed on a route, or as let pass by shadow mode,
and nothing else; with --to also its tests. Then decides the log again by it. Exits with 1 if a name is left out.`,
    argument: {
      name: 'FILE',
      does: 'decision logs, JSON lines; - reads stdin',
      isRequired: true,
      isRepeated: true,
      isPath: true,
    },
    options: options.learn,
    examples: [
      'learn decisions.jsonl --route tools',
      'learn decisions.jsonl decisions.jsonl.1 --route tools --to learnt --by claim:role',
    ],
    run: async (first = '', values, _, more) => (await import('./learn.ts')).learn([first, ...more], values),
  }),
  rights: command({
    does: 'show what callers used, and what they could use',
    about: `For each caller of a decision log: the entries of policies that it used, could use and never did by its last
claims and scopes, and was refused or not shown; at the end the entries that no caller used. Exits with 1 if the files
have no decision.`,
    argument: {
      name: 'FILE',
      does: 'decision logs, JSON lines; - reads stdin',
      isRequired: true,
      isRepeated: true,
      isPath: true,
    },
    options: options.rights,
    examples: [
      'rights decisions.jsonl --route tools',
      'rights decisions.jsonl* --by client --policies ../january/policies',
    ],
    run: async (first = '', values, _, more) => (await import('./rights.ts')).rights([first, ...more], values),
  }),
  compare: command({
    does: 'show what an edit of policies means',
    about: `Compares policies with those before an edit, and proves what it prints: for each rule that decides and each
kind of difference, a caller and a call on which they differ. It exits with 1 if anything differs.`,
    options: options.compare,
    examples: ['compare --from ../main/policies', 'compare --from ../main/gateway.yaml --json'],
    run: async (_, values) => (await import('./compare.ts')).compare(values),
  }),
  revoke: command({
    does: 'end the rights of a person or an agent at a running gateway',
    about: `Refuses all tokens of a person, a client or an agent that were issued until now, and ends their
streams. It asks the running gateway, at its admin listener, with admin.token or SALLYPORT_ADMIN_TOKEN.`,
    options: options.revoke,
    examples: [
      'revoke --subject 00u1a --issuer https://acme.okta.com',
      'revoke --email alice@example.com --yes',
      'revoke --client agent-7 --issuer https://acme.okta.com',
      'revoke --list',
    ],
    run: async (_, values) => (await import('./revoke.ts')).revoke(values),
  }),
  token: command({
    does: 'get a token for a job, a workload or a terminal',
    about: `Gets an access token of an authorization server and prints it, for programs that run without a browser:
by a client's secret or key, by the token of a platform, or by a code that a person types elsewhere.`,
    options: options.token,
    examples: [
      'token --issuer https://signin.example.com --client nightly-report --key report.pem',
      'token --issuer https://signin.example.com --workload /var/run/secrets/tokens/sallyport',
      'token --issuer https://signin.example.com --client terminal --device',
    ],
    run: async (_, values) => (await import('./token.ts')).token(values),
  }),
  log: command({
    does: 'show the decisions of a log',
    about: `Prints decisions as a table, the newest last; those of several logs in the order of their times. Below a
refusal are the id of its decision, for sallyport explain, and what was expected and found. Without FILE it reads
log.file of the configuration, or else stdin.`,
    argument: { name: 'FILE', does: 'decision logs, JSON lines; - reads stdin', isRepeated: true, isPath: true },
    options: options.log,
    examples: [
      'log --since 1d --summary',
      'log --since 22:27 --until 22:40 --denied',
      'log decisions.jsonl.1 decisions.jsonl --subject alice --json',
      'log --verify decisions.jsonl --keys audit-keys.json',
    ],
    run: async (first, values, _, more) =>
      (await import('./log.ts')).log(first === undefined ? [] : [first, ...more], values),
  }),
  schema: command({
    does: 'print a JSON Schema, for editors',
    about: 'Prints the JSON Schema of gateway.yaml (the default), of a policy, of its tests or of its lock.',
    argument: { name: 'NAME', does: 'the schema', oneOf: ['gateway', 'policy', 'policy-test', 'policy-lock'] },
    options: {},
    examples: ['schema', 'schema policy > policy.schema.json'],
    async run(name) {
      const { schemas } = await import('../core/config/schemas.ts');
      const { [name as keyof typeof schemas]: schema = schemas.gateway } = schemas;
      return print(`${JSON.stringify(schema, undefined, 2)}\n`);
    },
  }),
  completion: command({
    does: 'print a completion script for a shell',
    about: `Prints a script that completes commands, options and files. Load it when the shell starts:
  bash  source <(sallyport completion bash)                            in ~/.bashrc
  zsh   source <(sallyport completion zsh)                             in ~/.zshrc, after compinit
  fish  sallyport completion fish > ~/.config/fish/completions/sallyport.fish`,
    argument: { name: 'SHELL', does: 'the shell', isRequired: true, oneOf: ['bash', 'zsh', 'fish'] },
    options: {},
    examples: ['completion bash'],
    async run(shell, _, all) {
      const { completionScripts } = await import('./completion.ts');
      return print(completionScripts[shell as keyof typeof completionScripts](all));
    },
  }),
  help: command({
    does: 'print this help, or the help of a command',
    about: 'Prints the list of commands, or the help of one command.',
    argument: { name: 'COMMAND', does: 'the command' },
    options: {},
    examples: ['help', 'help explain'],
    async run(name, _, all) {
      const { commandHelp, programHelp, unknownCommand } = await import('./help.ts');
      if (name === undefined) return print(programHelp(all));
      const described = Object.hasOwn(all, name) ? all[name] : undefined;
      if (described === undefined) throw new UsageError(unknownCommand(name, all));
      return print(commandHelp(name, described));
    },
  }),
};

/** Every command by its name, in the order of the help. */
export const commands: Commands = withCapabilities();

function withCapabilities(): Commands {
  const rows = Object.entries(own);
  for (const { commands: more } of capabilities) {
    if (more === undefined) continue;
    rows.splice(rows.findIndex(([name]) => name === more.after) + 1, 0, ...Object.entries(more.of(kit)));
  }
  return Object.fromEntries(rows);
}
