import { availableParallelism } from 'node:os';
import { type ExitCode, UsageError } from './exit.ts';

/** One command of the program. Its modules are loaded when it runs, so that a gateway starts fast. */
export interface Command {
  /** One line for the list of commands. */
  readonly does: string;
  readonly usage: string;
  /** What `--help` says after the usage. */
  readonly help: string;
  /** Accepted positional arguments, at most one of them: these words, or any. */
  readonly words: readonly string[] | 'any';
  readonly options: Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;
  run(word: string | undefined, options: Options): ExitCode | Promise<ExitCode>;
}

type Options = Readonly<Record<string, unknown>>;

const config = { config: { type: 'string' } } as const;
const configHelp = optionsHelp(['--config FILE', 'the configuration; default: gateway.yaml']);

function optionsHelp(...rows: readonly (readonly [option: string, does: string])[]): string {
  return rows.map(([option, does]) => `  ${option.padEnd(18)}  ${does}\n`).join('');
}
const fileOf = (options: Options): string => textOf(options, 'config') ?? 'gateway.yaml';

function textOf(options: Options, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

function workersOf(text: string): number {
  if (text === 'auto') return availableParallelism();
  if (/^[1-9][0-9]{0,2}$/.test(text)) return Number(text);
  throw new UsageError(`--workers: ${JSON.stringify(text)} is neither a number of processes nor auto`);
}

/** Every command by its name. */
export const commands: Readonly<Record<string, Command>> = {
  init: {
    does: 'write a configuration to begin with',
    usage: 'sallyport init [--dir DIR] [--compose]',
    help: `Writes gateway.yaml, a policy and its tests, all with comments. It never overwrites a file.

  --dir DIR           the folder to write to; default: the current one
  --compose           also writes docker-compose.yml, in which only the gateway can reach your server
`,
    words: [],
    options: { dir: { type: 'string' }, compose: { type: 'boolean' } },
    async run(_word, options) {
      return (await import('./init.ts')).init(textOf(options, 'dir') ?? '.', options['compose'] === true);
    },
  },
  serve: {
    does: 'run the gateway',
    usage: 'sallyport serve [--config FILE] [--workers N]',
    help: `Runs the gateway until SIGTERM or SIGINT. Requests then finish, and streams get 10 s; a second signal ends it
at once. An edit of the configuration or its policies is in force as soon as it is saved, or on SIGHUP.

${configHelp}  --workers N         the number of processes; auto: one for each processor; default: 1
`,
    words: [],
    options: { ...config, workers: { type: 'string' } },
    async run(_word, options) {
      const workers = workersOf(textOf(options, 'workers') ?? '1');
      return (await import('./serve.ts')).serve({ file: fileOf(options), workers });
    },
  },
  check: {
    does: 'check the configuration and its policies',
    usage: 'sallyport check [--strict] [--config FILE]',
    help: `Loads the configuration, its policies and their tests. Prints every problem, and a warning for what is legal
and probably wrong.

  --strict            also fails if there is a warning
${configHelp}`,
    words: [],
    options: { ...config, strict: { type: 'boolean' } },
    run: async (_word, options) => (await import('./check.ts')).check(fileOf(options), options['strict'] === true),
  },
  test: {
    does: 'run the tests of the policies',
    usage: 'sallyport test [TEXT] [--watch] [--junit FILE] [--coverage] [--config FILE]',
    help: `Runs the tests in each NAME.test.yaml beside a policy, with the code that serves requests. Prints each
failure, and how many rules the tests decide.

  TEXT                runs only tests with TEXT in the policy or the name
  --watch             runs them again after each edit
  --junit FILE        also writes a JUnit report
  --coverage          lists the rules that no test decides
  --require-coverage  also fails if there is such a rule
${configHelp}`,
    words: 'any',
    options: {
      ...config,
      watch: { type: 'boolean' },
      junit: { type: 'string' },
      coverage: { type: 'boolean' },
      'require-coverage': { type: 'boolean' },
    },
    async run(word, options) {
      const { testPolicies } = await import('./test-policies.ts');
      return testPolicies({
        config: fileOf(options),
        filter: word,
        watch: options['watch'] === true,
        junit: textOf(options, 'junit'),
        coverage: options['coverage'] === true,
        requireCoverage: options['require-coverage'] === true,
      });
    },
  },
  explain: {
    does: 'explain the decision on a call',
    usage: `sallyport explain --route NAME [--tool NAME] (--token TOKEN | --claims JSON) [--json] [--config FILE]
sallyport explain --decision ID --log FILE [--json] [--config FILE]`,
    help: `Shows the decision on a call, by the code that serves requests, and what each condition wanted and found.

  --route NAME        the route that is called
  --tool NAME         the tool that is called, on an MCP route; or --resource URI, --prompt NAME, --method NAME
  --arguments JSON    the arguments; without them, the decision ignores the conditions on arguments
  --token TOKEN       the caller's access token, validated as on the route; - reads it from stdin
  --claims JSON       or the claims of the caller: '{"sub":"alice","scope":"read"}'
  --scope TEXT        and the scopes of the caller, separated by spaces
  --lifetime 60s      and the lifetime of the token, exp - iat
  --decision ID       explains a logged decision instead, by its decision id or its request id
  --log FILE          the decision log to search; - reads stdin
  --json              prints JSON
${configHelp}`,
    words: [],
    options: {
      ...config,
      ...strings('route', 'tool', 'resource', 'prompt', 'method', 'arguments'),
      ...strings('token', 'claims', 'scope', 'lifetime', 'decision', 'log'),
      json: { type: 'boolean' },
    },
    async run(_word, options) {
      const { explain } = await import('./explain.ts');
      const text = (name: string): string | undefined => textOf(options, name);
      return explain({
        config: fileOf(options),
        json: options['json'] === true,
        route: text('route'),
        tool: text('tool'),
        resource: text('resource'),
        prompt: text('prompt'),
        method: text('method'),
        arguments: text('arguments'),
        token: text('token'),
        claims: text('claims'),
        scope: text('scope'),
        lifetime: text('lifetime'),
        decision: text('decision'),
        log: text('log'),
      });
    },
  },
  replay: {
    does: 'decide a log again with edited policies',
    usage: 'sallyport replay FILE [--policies DIR] [--json] [--config FILE]',
    help: `Decides the calls of a decision log again, with the code that serves requests. Prints what would change, and
for which callers.

  FILE                the decision log, JSON lines; - reads stdin
  --policies DIR      the edited policies; default: those of the configuration
  --json              prints JSON
${configHelp}`,
    words: 'any',
    options: { ...config, policies: { type: 'string' }, json: { type: 'boolean' } },
    async run(word, options) {
      const { replay } = await import('./replay.ts');
      if (word === undefined) throw new UsageError('the decision log is missing');
      const policies = textOf(options, 'policies');
      return replay(word, { config: fileOf(options), policies, json: options['json'] === true });
    },
  },
  schema: {
    does: 'print a JSON Schema, for editors',
    usage: 'sallyport schema [gateway|policy|policy-test]',
    help: 'Prints the JSON Schema of gateway.yaml (the default), of a policy or of its tests.\n',
    words: ['gateway', 'policy', 'policy-test'],
    options: {},
    async run(word): Promise<ExitCode> {
      const { schemas } = await import('../config/schema.ts');
      const schema = schemas[word === 'policy' || word === 'policy-test' ? word : 'gateway'];
      process.stdout.write(`${JSON.stringify(schema, undefined, 2)}\n`);
      return 0;
    },
  },
};

function strings(...names: readonly string[]): Readonly<Record<string, { readonly type: 'string' }>> {
  return Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
}
