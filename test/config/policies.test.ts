import { describe, expect, test } from 'vitest';
import { base, edited, refusals } from './folder.ts';

describe('a policy', () => {
  test.each([
    ['empty', '', ':1:1: is empty; write `{}` to accept any valid token'],
    ['only comments', '# later\n', ':1:1: is empty; write `{}` to accept any valid token'],
    ['null', '~', ':1:1: is empty; write `{}` to accept any valid token'],
    ['a list', '[]', ':1:1: expected a mapping, found a list; write its entries as keys, without "- "'],
    [
      'a key given twice',
      'scope: a\nscope: b\n',
      ':2:1: "scope" is already a key of this mapping, in line 1; write it once',
    ],
    [
      'an unknown key',
      'scop: a',
      ':1:1: scop: unknown key (did you mean scope?); accepted: scope, claims, any, all, not, acr, max_age, max_lifetime, because, mode, tools, resources, prompts, methods, requests, lists, lock',
    ],
    [
      'a claim without a value',
      'claims:\n  risk:\n',
      ':2:8: claims.risk: expected a string, a number, true or false, a list or a mapping, found nothing',
    ],
    ['a mode', 'mode: "on"', ':1:7: mode: "on" is neither enforce nor shadow'],
    [
      'what only compiling finds',
      'claims:\n  "/a~b": x\n',
      ':2:11: claims["/a~b"]: "/a~b" is not a JSON Pointer (RFC 6901): within a name, write "~" as "~0" and "/" as "~1"',
    ],
    [
      'a placeholder',
      'any:\n  - claims: { a: { not: "${env:X}" } }\n',
      ':2:25: any[0].claims.a.not: placeholders work in gateway.yaml only',
    ],
    [
      'a pattern that some texts take seconds for',
      'claims:\n  name: { matches: "^([\\\\w-]+\\\\.?)+$" }\n',
      ':2:20: claims.name.matches: "^([\\\\w-]+\\\\.?)+$" may take too long: from character 3, "[\\\\w-]+" can match the same text in several ways, and the engine tries all of them: write it so that the next character decides how it goes on, or list the values with `one_of`',
    ],
    [
      'such a pattern for an argument, under not',
      'tools:\n  pay: { arguments: { /to: { not: { matches: "x+$" } } } }\n',
      ':2:46: tools.pay.arguments["/to"].not.matches: "x+$" may take too long: from character 1, "x+" is tried anew from each character of the text: begin the pattern with `^`, or list the values with `one_of`',
    ],
    [
      'words with a line break, as of a block without `-`',
      'because: >\n  Ask support.\n',
      ':1:10: because: "Ask support.\\n" is not one line of at most 500 characters, without control characters or invisible ones',
    ],
    [
      'words that are too long',
      `because: ${'x'.repeat(501)}`,
      ':1:10: because: expected one line of at most 500 characters, without control characters or invisible ones, found a string',
    ],
    [
      'words with a placeholder, which could hold a secret',
      'because: "${file:/run/secrets/x}"',
      ':1:10: because: placeholders work in gateway.yaml only',
    ],
    ['bytes that are no text', Buffer.from([0xff]), ': is not UTF-8 text'],
  ])('is refused: %s', async (_title, policy, line) => {
    expect(await refusals({ yaml: base, files: { 'policies/x.yaml': policy } })).toEqual([`policies/x.yaml${line}`]);
  });

  test('reports each slow pattern, beside the faults that only compiling finds', async () => {
    const policy = 'claims:\n  a: { matches: "x+$" }\n  b: { matches: "(" }\n  c: { not: { matches: "(y*)*$" } }\n';
    const found = await refusals({ yaml: base, files: { 'policies/x.yaml': policy } });
    expect(found.map((line) => /x\.yaml:(\d+):/.exec(line)?.[1])).toEqual(['2', '3', '4']);
  });

  test('with a problem is not reported as missing too', async () => {
    const yaml = edited(['    upstream:', '    policy: x\n    upstream:']);
    expect(await refusals({ yaml, files: { 'policies/x.yaml': 'a' } })).toEqual([
      'policies/x.yaml:1:1: expected a mapping, found a string',
    ]);
  });

  test('with tools is refused on an http route, where it would allow every call', async () => {
    const yaml = edited(['    upstream:', '    policy: x\n    upstream:']);
    expect(await refusals({ yaml, files: { 'policies/x.yaml': 'tools: {}' } })).toEqual([
      'gateway.yaml:11:13: routes[0].policy: policies/x.yaml has tools, which needs protocol: mcp',
    ]);
    expect(await refusals({ yaml, files: { 'policies/x.yaml': 'methods: {}' } })).toEqual([
      'gateway.yaml:11:13: routes[0].policy: policies/x.yaml has methods, which needs protocol: mcp',
    ]);
    const mcp = edited(['    upstream:', '    policy: x\n    protocol: mcp\n    upstream:']);
    expect(await refusals({ yaml: mcp, files: { 'policies/x.yaml': 'tools: {}' } })).toEqual([]);
  });

  test('must not be a folder', async () => {
    expect(await refusals({ yaml: base, files: { 'policies/x.yaml/y': '' } })).toEqual([
      'policies/x.yaml: is not a file',
    ]);
  });
});

test('refuses a configured folder of policies that does not exist', async () => {
  expect(await refusals({ yaml: `${base}policies: ./nope\n` })).toEqual([
    'gateway.yaml:13:11: policies: "./nope" is not a folder',
  ]);
});
