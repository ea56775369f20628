import { describe, expect, test } from 'vitest';
import { edited } from '../serve/config/folder.ts';
import { outcomeIn } from './run.ts';

const situation = {
  yaml: edited(
    ['name: api', 'name: tools\n    protocol: mcp\n    policy: tools'],
    ['path: /api', 'path: /mcp'],
    ['audience: https://api.example', 'audience: http://127.0.0.1:8080/mcp'],
  ),
  files: {
    'policies/tools.yaml':
      'scope: read\ntools: { "get_*": {}, archive_item: { scope: write, arguments: { /id: { at_most: 10 } } } }\n',
  },
};

const explainOn = (route: string, ...args: readonly string[]) =>
  outcomeIn(situation, ['explain', '--route', route, ...args]);
const explain = (...args: readonly string[]) => explainOn('tools', ...args);

describe('sallyport explain', () => {
  test('shows the values that the operator passed', async () => {
    const { stdout } = await explain('--tool', 'archive_item', '--scope', 'read write', '--arguments', '{"id":"4711"}');
    expect(stdout).toMatch(/^fails .*argument \/id: .* {2}"4711"$/m);
  });

  test('says that an allowed call depends on arguments that were not passed', async () => {
    const { stdout } = await explain('--tool', 'archive_item', '--scope', 'read write');
    expect(stdout).toMatch(/^allow, if the policy accepts the arguments {3}\(route tools, policy tools\)\n/);
    expect(stdout).toContain('without --arguments, the conditions on them are unknown\n');
  });

  test('names what a name resembles', async () => {
    const { stdout } = await explain('--tool', 'getItem', '--scope', 'raed');
    expect(stdout).toContain('  the tool "getItem" resembles "get_*", which the policy names\n');
    expect(stdout).toContain('  the scope "raed" resembles "read", which the policy names\n');
  });

  test.each([
    [
      ['--arguments', 'id=5'],
      '--arguments: "id=5" is not JSON; pass a JSON object such as \'{"id":1}\', in single quotes',
    ],
    [['--arguments', '[1]'], '--arguments: "[1]" is not a JSON object; pass a JSON object such as'],
    [['--claims', 'null'], '--claims: "null" is not a JSON object; pass a JSON object such as \'{"sub":"alice"}\''],
    [['--claims', 'aaaa.bbbb.'], '--claims looks like a token: pass a token as --token'],
    // What looks generated may be a secret.
    [['--claims', '"a1B2c3D4e5F6g7H8"'], '--claims: "\\"…\\"" is not a JSON object'],
    [['--lifetime', '1 minute'], '--lifetime: "1 minute" is not a duration such as 60s'],
  ])('%j: says what it got', async (args, message) => {
    const { code, stderr } = await explain('--tool', 'get_item', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(`sallyport: ${message}`);
  });

  test('takes the only route, and asks which one if there are several', async () => {
    const args = ['explain', '--tool', 'get_item', '--scope', 'read'];
    const one = await outcomeIn(situation, args);
    expect(one).toMatchObject({ code: 0, stdout: expect.stringMatching(/^allow .*route tools/) as string });
    const yaml = `${situation.yaml}  - { name: page, path: /page, public: true, upstream: { url: "http://x" } }\n`;
    const several = await outcomeIn({ ...situation, yaml }, args);
    expect(several).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--route is missing; there are: tools, page') as string,
    });
  });

  test('says that a lock is judged by the gateway, where it may refuse what the policy allows', async () => {
    const note = /^ {2}lock: deny: the running gateway also refuses what is not as approved, .*doctor compares it$/m;
    const explained = async (lock: string, ...args: readonly string[]): Promise<string> => {
      const policy = `${lock}\nscope: read\ntools: { get_item: {} }\nmethods: { ping: {} }\n`;
      const files = { 'policies/tools.yaml': policy, 'policies/tools.lock.yaml': '{}' };
      const { code, stdout } = await outcomeIn({ ...situation, files }, ['explain', '--scope', 'read', ...args]);
      expect(code).toBe(0);
      return stdout;
    };
    expect(await explained('lock: deny', '--tool', 'get_item')).toMatch(note);
    expect(await explained('lock: deny', '--tool', 'get_item')).not.toContain('calls: strict');
    expect(await explained('lock: deny\ncalls: strict', '--tool', 'get_item')).toContain(
      'calls: strict: it also refuses',
    );
    expect(await explained('lock: deny', '--tool', 'other')).not.toMatch(note);
    expect(await explained('lock: deny', '--method', 'ping')).not.toMatch(note);
    expect(await explained('lock: report', '--tool', 'get_item')).not.toMatch(note);
  });

  test('says that a log does not exist', async () => {
    expect(await explain('--decision', 'x', '--log', 'nosuch.jsonl')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'sallyport: nosuch.jsonl: does not exist\n',
    });
  });

  test('names the route that was meant', async () => {
    const { code, stderr } = await explainOn('tool');
    expect(code).toBe(2);
    expect(stderr).toContain('there is no route "tool" (did you mean tools?); there are: tools');
  });
});

test('on a route whose policy has requests, the request is required, and decided', async () => {
  const http = {
    yaml: edited(['path: /api', 'path: /api\n    policy: api']),
    files: { 'policies/api.yaml': 'scope: read\nrequests: { GET /api/*: {}, POST /api: { scope: write } }\n' },
  };
  const run = (...args: readonly string[]) => outcomeIn(http, ['explain', '--scope', 'read', ...args]);
  expect((await run()).stderr).toContain("the policy of api decides by method and path: add --request 'GET /PATH'");
  expect((await run('--request', 'get /api')).stderr).toContain('--request: "get /api" is not a method in capitals');
  expect((await run('--tool', 'x')).stderr).toContain('--tool: api is not protocol: mcp');
  expect((await run('--request', 'GET /api/1')).stdout).toMatch(/^allow/);
  expect((await run('--request', 'POST /api')).stdout).toContain('the challenge asks for scope "read write"');
  const { stdout } = await run('--request', 'GET /apis/1');
  expect(stdout).toContain('deny request.unlisted');
  expect(stdout).toContain('the request "GET /apis/1" resembles "GET /api/*", which the policy names');
});
