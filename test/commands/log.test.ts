import { appendFile, mkdtemp, rename, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { sallyport } from '../serve/process.ts';
import { outcome } from './run.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-log-'));
});

function line(members: object = {}): string {
  return `${JSON.stringify({
    time: '2026-11-21T08:00:00.000Z',
    level: 'info',
    msg: 'decision',
    decision: 'd1',
    request_id: 'r1',
    route: 'tools',
    allow: true,
    subject: 'alice',
    client_id: 'desk',
    method: 'tools/call',
    tool: 'read_account',
    ...members,
  })}\n`;
}

const denied = {
  allow: false,
  reason: 'claim.denied',
  subject: 'bob',
  tool: 'pay',
  time: '2026-11-21T09:00:00.000Z',
  decision: 'd2',
  detail: 'role is "clerk"\u001b; wanted "payer"',
  address: '192.0.2.7',
  claims: { email: 'b@a.example' },
};
const expired = {
  allow: false,
  reason: 'token.expired',
  route: 'api',
  method: 'GET',
  path: '/orders/17',
  decision: 'd4',
  address: '2001:db8::1',
  time: '2026-11-22T11:00:00.000Z',
  subject: undefined,
  client_id: undefined,
  tool: undefined,
};
const log = [
  line(),
  line(denied),
  line({
    decision: 'd3',
    shadow: true,
    reason: 'scope.insufficient',
    client_id: 'phone',
    time: '2026-11-22T10:00:00.000Z',
  }),
  line(expired),
  '{"time":"2026-11-22T12:00:00.000Z","level":"info","msg":"listening"}\n',
].join('');

const title =
  'time (UTC)      decision              subject           client        route         called            address\n';
const rows = {
  allowed: '11-21 08:00:00  allow                 alice             desk          tools         read_account\n',
  denied:
    '11-21 09:00:00  claim.denied          bob b@a.example   desk          tools         pay               192.0.2.7\n' +
    '                d2  role is "clerk"\uFFFD; wanted "payer"\n',
  shadow:
    '11-22 10:00:00  shadow scope.insufficient  alice             phone         tools         read_account\n' +
    '                d3\n',
  expired:
    '11-22 11:00:00  token.expired                                         api           GET /orders/17    2001:db8::1\n' +
    '                d4\n',
};
/** As they are beside `rows.shadow`, whose decision is longer than its column. */
const aligned = (text: string): string => text.replaceAll(/^\S.{35}/gm, '$&     ');
/** The time of day some hours before or after now, UTC. */
const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
const clock = (hours: number): string => inHours(hours).slice(11, 16);

async function shown(args: readonly string[], content = log): Promise<string> {
  await writeFile(join(folder, 'log'), content);
  const { code, stdout, stderr } = await outcome(['log', 'log', ...args], folder);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

describe('the table', () => {
  test.for([
    [[], aligned(title + rows.allowed + rows.denied) + rows.shadow + aligned(rows.expired)],
    [['--denied'], aligned(title + rows.denied) + rows.shadow + aligned(rows.expired)],
    [['--route', 'api'], title + rows.expired],
    [['--subject', 'bob'], title + rows.denied],
    [['--subject', 'b@a.example'], title + rows.denied],
    [['--address', '192.0.2.7'], title + rows.denied],
    [['--address', '2001:db8::/32'], title + rows.expired],
    [['--path', '/orders'], title + rows.expired],
    [['--path', '/orders/17'], title + rows.expired],
    [['--path', '/order'], ''],
    [['--client', 'phone'], aligned(title) + rows.shadow],
    [['--tool', 'pay'], title + rows.denied],
    [['--tool', 'GET'], title + rows.expired],
    [['--reason', 'token'], title + rows.expired],
    [['--reason', 'claim.denied'], title + rows.denied],
    [['--reason', 'claim.d'], ''],
    [['--since', '2026-11-22'], aligned(title) + rows.shadow + aligned(rows.expired)],
    [['--since', '2026-11-21T09:00', '--until', '2026-11-21 12:00:30+03:00'], title + rows.denied],
    [['--until', '2026-11-21T09:00Z'], title + rows.allowed],
    [['--since', '1m'], ''],
    [['--since', '9999d', '--subject', 'alice', '--denied'], aligned(title) + rows.shadow],
  ] as const)('%j', async ([args, stdout]) => {
    expect(await shown(args)).toBe(stdout);
  });

  const failed = line({ time: '2026-11-22T12:00:00.000Z', request_id: 'r5', decision: 'd5', tool: 'pay' });
  const failure = `${JSON.stringify({
    time: '2026-11-22T12:00:01.000Z',
    level: 'warn',
    msg: 'request failed',
    request_id: 'r5',
    reason: 'upstream.unreachable',
    detail: 'ECONNREFUSED \u001b',
  })}\n`;
  const failedRow =
    '11-22 12:00:00  failed upstream.unreachable  alice             desk          tools         pay\n' +
    '                d5  ECONNREFUSED \uFFFD\n';

  test('a call that was allowed and failed has a line of its own, which --failed shows alone', async () => {
    const content = line() + failed + failure;
    const [head, ...others] = (await shown([], content)).split('\n');
    expect(head).toMatch(/^time/);
    expect(others.map((each) => each.slice(16, 43).trim())).toEqual([
      'allow',
      'allow',
      'failed upstream.unreachable',
      expect.stringMatching(/^d5 {2}ECONN/),
      '',
    ]);
    expect((await shown(['--failed'], content)).split('\n').slice(1).join('\n')).toBe(failedRow);
    expect(await shown(['--failed', '--reason', 'upstream.timeout'], content)).toBe('');
    expect(JSON.parse(await shown(['--failed', '--json'], content))).toMatchObject({
      decision: 'd5',
      failure: { reason: 'upstream.unreachable' },
    });
    expect(await shown(['--summary'], content)).toContain('2 allowed (1 failed afterwards), 0 denied');
  });

  test.for([
    [['--since', clock(-2)], 'read'],
    [['--since', clock(-2), '--until', clock(-1)], 'read'],
    [['--until', clock(-2)], 'old'],
    // Still to come today.
    [['--since', clock(1)], 'read'],
    [['--until', clock(1)], 'old'],
  ] as const)('%j is a time of the last 24 hours', async ([args, tool]) => {
    const content = line({ tool: 'old', time: inHours(-30) }) + line({ tool: 'read', time: inHours(-1.5) });
    const logged = (await shown([...args, '--json'], content)).trimEnd().split('\n');
    expect(logged.map((each) => (JSON.parse(each) as { tool: string }).tool)).toEqual([tool]);
  });

  test('shows who acted, and what a list withheld, but not among refusals', async () => {
    const list = { msg: 'list', shown: 3, withheld: ['pay', 'close\u001b'], withheld_more: 2, by: ['policy', 'lock'] };
    const acted = { actors: ['agent-7', 'planner'], method: 'tools/list', tool: undefined };
    await writeFile(join(folder, 'log'), line(acted) + line(list) + line({ ...list, decision: 'unknown' }));
    const { stdout } = await outcome(['log', 'log'], folder);
    expect(stdout.split('\n').slice(1, -1)).toEqual([
      expect.stringMatching(/^11-21 08:00:00 {2}allow .* desk \(agent-7 < planner\) +tools +tools\/list$/),
      expect.stringMatching(/^11-21 08:00:00 {2}withheld 4 .* tools\/list$/),
      expect.stringMatching(/^ +d1 {2}3 shown; withheld by policy, lock: pay, close\S and 2 more$/),
    ]);
    expect((await outcome(['log', 'log', '--denied'], folder)).stdout).toBe('');
    expect((await outcome(['log', 'log', '--json'], folder)).stdout.split('\n')).toHaveLength(2);
  });

  test('has the decisions and failures of several logs in the order of their times', async () => {
    const at = (time: string, members: object = {}): string => line({ time: `2026-11-22T${time}:00.000Z`, ...members });
    const write = (name: string, lines: readonly string[]): Promise<void> =>
      writeFile(join(folder, name), lines.join(''));
    await write('one', [at('08:00', { tool: 'a' }), at('08:10', { tool: 'c' }), at('08:40', { tool: 'f' })]);
    await write('two', [at('08:05', { tool: 'b' }), at('08:12', { tool: 'd', request_id: 'r5' }), failure]);
    await write('none', []);
    // A line without a time stays behind the one before it.
    await write('three', [
      at('08:30', { tool: 'e' }),
      line({ tool: 'untimed', time: undefined }),
      at('13:00', { tool: 'g' }),
    ]);
    const { code, stdout, stderr } = await outcome(['log', 'one', 'three', 'two', 'none'], folder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const calls = stdout.split('\n').flatMap((row) => /(?:allow|failed).* (\S+)$/.exec(row)?.[1] ?? []);
    expect(calls).toEqual(['a', 'b', 'c', 'd', 'e', 'untimed', 'f', 'd', 'g']);
    const summary = await outcome(['log', 'one', 'two', '--summary'], folder);
    expect(summary.stdout).toMatch(/^5 allowed \(1 failed afterwards\), 0 denied, \S+T08:00\S+ to \S+T08:40/);
  });

  test('reads stdin, and lines that a collector put something before', async () => {
    const { stdout } = await outcome(['log'], folder, { stdin: `2026-11-21 stdout F ${line()}` });
    expect(stdout).toBe(title + rows.allowed);
  });

  test('has no line for a call that gave its part back to rules over time', async () => {
    const settled = line({ msg: 'settled', allow: undefined, detail: 'answered with status 500' });
    expect(await shown([], line() + settled)).toBe(title + rows.allowed);
    expect(await shown(['--json'], line() + settled)).toBe(line());
    expect(await shown(['--summary'], line() + settled)).toMatch(/^1 allowed, 0 denied/);
    expect(await shown(['--denied'], line() + settled)).toBe('');
  });

  test.each([
    [[], title + rows.allowed],
    [['--json'], line()],
    [['--summary'], '1 allowed, 0 denied'],
  ])('%j skips lines of more than 1 MiB and unreadable decisions, and counts them', async (args, printed) => {
    const long = line({ detail: 'x'.repeat(2 ** 20) });
    await writeFile(join(folder, 'log'), `${long}${line({ input: { targets: 5 } })}${line()}${long.trimEnd()}`);
    const { code, stdout, stderr } = await outcome(['log', 'log', ...args], folder);
    expect(stdout.slice(0, printed.length)).toBe(printed);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'sallyport: log: skipped 1 unreadable decision and 2 lines of more than 1 MiB\n',
    });
  });

  test('stays aligned under the long ids of clients that registered themselves', async () => {
    const id = 'k'.repeat(43);
    const lines = (await shown([], line() + line({ client_id: id }) + line())).trimEnd().split('\n');
    expect(new Set(lines.map((each) => each.search(/route|tools/)))).toEqual(new Set([101]));
  });

  test('--json prints the lines with all their members', async () => {
    const lines = (await shown(['--json', '--subject', 'bob'])).trimEnd().split('\n');
    expect(lines.map((each) => JSON.parse(each) as unknown)).toEqual([JSON.parse(line(denied)) as unknown]);
  });

  test('is the log that the configuration names', async () => {
    const yaml =
      'public_url: http://a.test\nlog: { file: kept/log }\nroutes: [{ name: r, path: /, public: true, upstream: { url: "http://127.0.0.1:9" } }]\n';
    await writeFile(join(folder, 'gateway.yaml'), yaml);
    expect(await outcome(['log'], folder)).toEqual({
      code: 1,
      stdout: '',
      stderr: `sallyport: ${join(folder, 'kept/log')}: does not exist\n`,
    });
  });
});

test.each([
  ['nosuch.jsonl', 'does not exist'],
  ['.', 'is not a file'],
])('says of %s that it %s', async (file, fault) => {
  const wanted = { code: 1, stdout: '', stderr: `sallyport: ${file}: ${fault}\n` };
  expect(await outcome(['log', file], folder)).toEqual(wanted);
  expect(await outcome(['log', '--follow', file], folder)).toEqual(wanted);
});

describe('--summary', () => {
  test('counts by tool, subject and reason', async () => {
    expect(await shown(['--summary'])).toBe(`2 allowed, 2 denied, 2026-11-21T08:00:00.000Z to 2026-11-22T11:00:00.000Z

  allowed   denied  tool
        2        0  read_account
        0        1  pay
        0        1  GET /orders/17

  allowed   denied  subject
        2        0  alice
        0        1  bob
        0        1  (none)

  allowed   denied  reason
        0        1  claim.denied
        1        0  scope.insufficient
        0        1  token.expired
`);
  });

  test('of nothing is a line', async () => {
    expect(await shown(['--summary', '--tool', 'none'])).toBe('0 allowed, 0 denied\n');
  });

  test('--json has all names', async () => {
    const many = Array.from({ length: 30 }, (_, index) => line({ tool: `tool-${index}` })).join('');
    expect(await shown(['--summary'], many)).toContain('  … and 10 more\n');
    expect(JSON.parse(await shown(['--summary', '--json'], many))).toMatchObject({
      allowed: 30,
      denied: 0,
      tools: { length: 30 },
      subjects: [{ name: 'alice', allowed: 30, denied: 0 }],
      reasons: [],
    });
  });
});

/** Erases the screen, moves the cursor, starts a line, rings, reverses the text: as a foreign writer may log it. */
const hostile = 'a\u001b[2J\u009b2J\r\n\u0007\u202eb\u2028c\u0085d';

test.each([[[]], [['--json']], [['--summary']], [['--summary', '--json']]])(
  'R-224: prints no character that acts on a terminal: %j',
  async (options) => {
    const names = ['decision', 'route', 'reason', 'subject', 'client_id', 'method', 'tool'];
    const members = Object.fromEntries(names.map((name) => [name, hostile]));
    const text = await shown(options, line({ ...members, allow: false }));
    expect(text).toContain('[2J');
    expect(text).not.toMatch(/[^\n\P{Cc}]|[\u2028-\u202e\u2066-\u2069]/u);
  },
);

describe('wrong usage', () => {
  const times =
    'write a duration such as 30m or 1d, a time of day such as 22:27, or a date such as 2026-01-31T22:27 (UTC)';
  test.for([
    [['--since', 'yesterday'], `--since: "yesterday" is not a time: ${times}`],
    [['--since', '2026-99-99'], `--since: "2026-99-99" is not a time: ${times}`],
    [['--until', '24:00'], `--until: "24:00" is not a time: ${times}`],
    [
      ['--since', '2026-01-02', '--until', '2026-01-01'],
      '--until is not after --since: 2026-01-01T00:00:00.000Z, 2026-01-02T00:00:00.000Z',
    ],
    [['--path', 'orders'], '--path: "orders" is not a path: begin with /, and omit the query'],
    [['--path', '/orders?q=1'], '--path: "/orders?q=1" is not a path: begin with /, and omit the query'],
    [['--address', 'bob'], '--address: "bob" is neither an address nor a network such as 10.0.0.0/8'],
    [['--summary', '--follow'], '--summary needs the end of the log: omit --follow'],
    [['log', '--follow'], '--follow reads one FILE, since several are merged'],
  ] as const)('%j', async ([args, message]) => {
    const stderr = `sallyport: ${message}; see sallyport help log\n`;
    expect(await outcome(['log', '-', ...args], folder)).toEqual({ code: 2, stdout: '', stderr });
  });

  test('a file without decisions, and one that is not there', async () => {
    await writeFile(join(folder, 'other'), 'hello\n');
    expect(await outcome(['log', 'other'], folder)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'sallyport: other: none of its lines is a decision; the output of sallyport serve has one for each request\n',
    });
    await writeFile(join(folder, 'other'), '');
    for (const options of [[], ['--json'], ['--summary']])
      expect(await outcome(['log', 'other', ...options], folder)).toMatchObject({
        code: 0,
        stderr: 'sallyport: no decisions read from other\n',
      });
    expect((await outcome(['log', '-'], folder)).stderr).toMatch(
      /^sallyport: no decisions read from stdin; pass a file /,
    );
    expect(await outcome(['log', '--follow', 'none'], folder)).toMatchObject({ code: 1, stdout: '' });
  });
});

test('--follow shows what is appended, also to the file that replaces the first one, and to a truncated one', async () => {
  const file = join(folder, 'log');
  await writeFile(file, line({ tool: 'one' }));
  const following = sallyport(['log', 'log', '--follow'], folder);
  await following.says(/ one\n/);
  await appendFile(file, line({ tool: 'two' }).slice(0, 40));
  await appendFile(file, line({ tool: 'two' }).slice(40));
  await following.says(/ two\n/);
  await rename(file, join(folder, 'log.1'));
  await appendFile(join(folder, 'log.1'), line({ tool: 'three' }));
  await writeFile(file, line({ tool: 'four' }));
  await following.says(/ three\n(?:.*\n)*.* four\n/);
  await truncate(file);
  await following.says(/ four\n/);
  // Shorter than what was read: a poll cannot tell a truncated file that has grown again from one that only grew.
  await appendFile(file, line({ tool: 'five', client_id: '' }));
  await following.says(/ five\n/);
  await appendFile(file, 'x'.repeat(3 * 2 ** 20));
  await appendFile(file, `\n${line({ tool: 'six' })}`);
  await following.says(/ six\n/);
  following.signal('SIGTERM');
  await following.ended;
  expect(following.stdout().match(/ (?:one|two|three|four|five|six)\n/g)).toHaveLength(6);
  expect(following.stderr()).toBe('sallyport: log: skipped 1 line of more than 1 MiB\n');
});

test('a table on a terminal fits into 100 columns, and has colours', async () => {
  const long = 'x'.repeat(80);
  await writeFile(join(folder, 'log'), line({ ...denied, subject: long, client_id: long, route: long, tool: long }));
  const { stdout } = await outcome(['log', 'log'], folder, { isTerminal: true });
  expect(stdout).toContain('\u001b[31mclaim.denied        \u001b[39m  xxxxxxxxxxx…  xxxxxxxx…');
  const widths = stripVTControlCharacters(stdout)
    .split('\n')
    .map((each) => each.length);
  expect(Math.max(...widths)).toBeLessThanOrEqual(100);
});

test('FORCE_COLOR colours what is piped', async () => {
  await writeFile(join(folder, 'log'), line());
  const { stdout } = await outcome(['log', 'log'], folder, { env: { FORCE_COLOR: '1', NO_COLOR: undefined } });
  expect(stdout).toContain('\u001b[32mallow');
});
