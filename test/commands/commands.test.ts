import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { commands } from '../../src/commands/commands.ts';
import { commandHelp, programHelp as listOf } from '../../src/commands/help.ts';
import { casesOf } from '../serve/config/edits.ts';
import { base, edited, folderWith, type Situation } from '../serve/config/folder.ts';
import { outcome, outcomeIn } from './run.ts';

const programHelp = `sallyport COMMAND [OPTIONS]: an authorization gateway for MCP servers and HTTP APIs

  init        write a configuration to begin with
  serve       run the gateway
  front-door  run the front door alone
  check       check the configuration and its policies
  lock        approve the tools, prompts and instructions of MCP servers
  doctor      examine a deployment: public URL, servers, upstreams, certificates
  test        run the tests of the policies
  explain     explain the decision on a call
  replay      decide a log again with edited policies
  learn       write a policy from a log
  rights      show what callers used, and what they could use
  compare     show what an edit of policies means
  approvals   show and decide what waits for an approval at a running gateway
  revoke      end the rights of a person or an agent at a running gateway
  token       get a token for a job, a workload or a terminal
  log         show the decisions of a log
  schema      print a JSON Schema, for editors
  completion  print a completion script for a shell
  help        print this help, or the help of a command

  -h, --help     this help, or the help of a command
  -v, --version  the version of the program

Exit status: 0 done, also if explain shows a denial; 1 failed, or found something wrong; 2 wrong usage.
`;

const serveHelp = `sallyport serve [OPTIONS]

Runs the gateway until SIGTERM or SIGINT. Requests then finish, and streams get 10 s; a second signal ends
it at once. An edit of the configuration or its policies is in force as soon as it is saved, or on SIGHUP.

  -c, --config FILE         the configuration; default: gateway.yaml
      --workers N           the number of processes; auto: one for each processor; default: 1
      --without-front-door  does not start the front door, which runs elsewhere
  -h, --help                this help

Examples:
  sallyport serve
  sallyport serve --workers auto
`;

const schemaHelp = `sallyport schema [NAME] [OPTIONS]

Prints the JSON Schema of gateway.yaml (the default), of a policy, of its tests or of its lock.

  NAME        the schema: gateway, policy, policy-test, policy-lock
  -h, --help  this help

Examples:
  sallyport schema
  sallyport schema policy > policy.schema.json
`;

describe('help', () => {
  test.each([
    [['--help'], programHelp],
    [['-h'], programHelp],
    [['help'], programHelp],
    [['--version'], `${packageJson.version}\n`],
    [['-v'], `${packageJson.version}\n`],
    [['serve', '--help'], serveHelp],
    [['serve', '-h'], serveHelp],
    [['help', 'serve'], serveHelp],
    [['schema', '--help'], schemaHelp],
  ])('%j', async (args, stdout) => {
    expect(await outcome(args)).toEqual({ code: 0, stdout, stderr: '' });
  });

  test.each(Object.entries(commands))('each example of %s is a command line that is understood', async (name, row) => {
    expect(row.examples.length).toBeGreaterThan(0);
    for (const example of row.examples) {
      const [first, ...rest] = example.replace(/ [<>].*/, '').split(' ');
      expect(first).toBe(name);
      const { code, stdout } = await outcome([name, ...rest, '--help']);
      expect({ code, first: stdout.split('\n')[0] }).toEqual({
        code: 0,
        first: expect.stringContaining(name) as string,
      });
    }
  });

  test('no line is wider than 120 columns', () => {
    const lines = [listOf(commands), ...Object.entries(commands).map(([name, row]) => commandHelp(name, row))]
      .join('')
      .split('\n');
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
  });
});

describe('wrong usage', () => {
  test.each(
    casesOf(`
(nothing) → a command is missing; see sallyport help
frobnicate → "frobnicate" is not a command; see sallyport help
constructor → "constructor" is not a command; see sallyport help
--frobnicate → "--frobnicate" is not an option of sallyport; see sallyport help
check --frobnicate → "--frobnicate" is not an option of check; see sallyport help check
check --constructor → "--constructor" is not an option of check; see sallyport help check
check -x → "-x" is not an option of check; see sallyport help check
check --config → --config needs a value: --config FILE; see sallyport help check
check -c --strict → -c needs a value: -c FILE; see sallyport help check
check --strict=yes → --strict takes no value; see sallyport help check
init --client → --client needs a value: --client NAME, one of claude, vscode, cursor, inspector; see sallyport help init
check gateway.yaml → "gateway.yaml" is not an argument of check; write --config gateway.yaml; see sallyport help check
schema routes → "routes" is not an argument of schema; see sallyport help schema
schema gateway policy → "policy" is not an argument of schema; see sallyport help schema
schema --config x → "--config" is not an option of schema; see sallyport help schema
replay → FILE is missing: the decision log, JSON lines; - reads stdin; see sallyport help replay
completion → SHELL is missing: the shell, one of bash, zsh, fish; see sallyport help completion
completion tcsh → "tcsh" is not an argument of completion; see sallyport help completion
help frobnicate → "frobnicate" is not a command; see sallyport help help
serve --workers 0 → --workers: "0" is neither a number of processes nor auto; see sallyport help serve
serve --workers=-1 → --workers: "-1" is neither a number of processes nor auto; see sallyport help serve
serve --workers 1.5 → --workers: "1.5" is neither a number of processes nor auto; see sallyport help serve
chekc → "chekc" is not a command; did you mean check?; see sallyport help
complet → "complet" is not a command; did you mean completion?; see sallyport help
help sreve → "sreve" is not a command; did you mean serve?; see sallyport help help
--verison → "--verison" is not an option of sallyport; did you mean --version?; see sallyport help
check --confg x → "--confg" is not an option of check; did you mean --config?; see sallyport help check
test --require → "--require" is not an option of test; did you mean --require-coverage?; see sallyport help test
serve --worker=2 → "--worker" is not an option of serve; did you mean --workers?; see sallyport help serve
`),
  )('%s', async (written, [line]) => {
    const args = written === '(nothing)' ? [] : written.split(' ');
    expect(await outcome(args)).toEqual({ code: 2, stdout: '', stderr: `sallyport: ${line}\n` });
  });
});

describe('check', () => {
  const warning = 'trusted_proxies[0]: "0.0.0.0/0" trusts every address: each client can choose its own address';
  const warned = {
    stdout: 'gateway.yaml: 1 route, 0 policies: ok, with 1 warning\n',
    stderr: `warning: gateway.yaml:13:19: ${warning}\n`,
  };
  const trusting = { yaml: `${base}trusted_proxies: [0.0.0.0/0]\n` };
  const tested = { 'policies/a.yaml': '{}', 'policies/a.test.yaml': '- { name: x, given: {}, when: {}, then: ok }\n' };
  const wrong = edited(['name: api', 'name: a/b'], ['http://127.0.0.1:3000', 'ftp://x']);

  test.each<[title: string, situation: Situation, option: string[], code: number, printed: Partial<typeof warned>]>([
    ['R-222: prints a warning to stderr', trusting, [], 0, warned],
    ['R-222: fails for a warning with --strict', trusting, ['--strict'], 1, warned],
    [
      'reads the tests of policies too',
      { yaml: base, files: tested },
      [],
      1,
      {
        stderr: `policies/a.test.yaml:1:41: [0].then: "ok" is not allow, shadow or { deny: REASON }
gateway.yaml: 1 problem
`,
      },
    ],
    [
      'counts routes and policies',
      { yaml: base, files: { 'policies/a.yaml': '{}' } },
      [],
      0,
      { stdout: 'gateway.yaml: 1 route, 1 policy: ok\n' },
    ],
    [
      'R-173: prints every problem on a line, then their number',
      { yaml: wrong, files: { 'policies/a.yaml': '' } },
      [],
      1,
      {
        stderr: `gateway.yaml:8:11: routes[0].name: "a/b" is not a name of letters, digits, dots, dashes and underscores
gateway.yaml:12:12: routes[0].upstream.url: "ftp://x" is not an http(s) URL
policies/a.yaml:1:1: is empty; write what callers need, such as \`scope: read\`; \`{}\` accepts any valid token
gateway.yaml: 3 problems
`,
      },
    ],
    [
      'reports a missing file',
      { yaml: base },
      ['--config', 'nope.yaml'],
      1,
      { stderr: 'nope.yaml: does not exist; sallyport init writes one\nnope.yaml: 1 problem\n' },
    ],
  ])('%s', async (_title, situation, options, code, printed) => {
    expect(await outcomeIn(situation, ['check', ...options])).toEqual({ code, stdout: '', stderr: '', ...printed });
  });

  test('accepts another file', async () => {
    const folder = await folderWith({ yaml: base, files: { 'policies/a.yaml': '{}', 'policies/b.yaml': '{}' } });
    const stdout = `${folder}/gateway.yaml: 1 route, 2 policies: ok\n`;
    expect(await outcome(['check', `--config=${folder}/gateway.yaml`])).toEqual({ code: 0, stdout, stderr: '' });
  });

  test('accepts the configuration of the repository', async () => {
    const memory = /^warning: gateway\.yaml:\d+:1: revocation: keeps revocations in memory, [^\n]*\n$/;
    expect(await outcome(['check'])).toMatchObject({ code: 0, stderr: expect.stringMatching(memory) as unknown });
  });
});

test.each([
  [['schema'], 'gateway'],
  [['schema', 'gateway'], 'gateway'],
  [['schema', 'policy'], 'policy'],
])('the schema: %j', async (args, name) => {
  const { code, stdout, stderr } = await outcome(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual(JSON.parse(readFileSync(`schema/${name}.schema.json`, 'utf8')));
});

test('colours mark the result on a terminal, and NO_COLOR turns them off', async () => {
  const files = {
    'policies/a.yaml': '{}',
    'policies/a.test.yaml': '- { name: n, given: {}, when: {}, then: { deny: claim.denied } }\n',
  };
  const run = (args: readonly string[], env = {}) =>
    outcomeIn({ yaml: `${base}trusted_proxies: [0.0.0.0/0]\n`, files }, args, { isTerminal: true, env });
  const { stdout, stderr } = await run(['check']);
  expect(stderr).toContain('\u001b[33mwarning\u001b[39m: gateway.yaml');
  expect(stdout).toContain('1 policy: \u001b[33mok, with 1 warning\u001b[39m\n');
  expect((await run(['test'])).stdout).toContain('\u001b[31mFAILED\u001b[39m\n');
  expect((await run(['check', '--config', 'nope.yaml'])).stderr).toContain(
    'nope.yaml: \u001b[31m1 problem\u001b[39m\n',
  );
  const plain = await run(['check'], { NO_COLOR: '1' });
  expect(plain.stdout + plain.stderr).not.toContain('\u001b');
});
