import { describe, expect, test } from 'vitest';
import { casesOf } from '../serve/config/edits.ts';
import { base, edited, refusals } from '../serve/config/folder.ts';

describe('a policy', () => {
  test.each(
    casesOf(`
# later → :1:1: is empty; write what callers need, such as \`scope: read\`; \`{}\` accepts any valid token
~ → :1:1: is empty; write what callers need, such as \`scope: read\`; \`{}\` accepts any valid token
[] → :1:1: expected a mapping, found a list; write its entries as keys, without "- "
scope: a⏎scope: b → :2:1: "scope" is already a key of this mapping, in line 1; write it once
scop: a
  :1:1: scop: unknown key (did you mean scope?); accepted: …
claims:⏎  risk: → :2:8: claims.risk: expected a string, a number, true or false, a list or a mapping, found nothing
mode: "on" → :1:7: mode: "on" is neither enforce nor shadow
claims:⏎  "/a~b": x
  :2:11: claims["/a~b"]: "/a~b" is not a JSON Pointer (RFC 6901): within a name, write "~" as "~0" and "/" as "~1"
any:⏎  - claims: { a: { not: "\${env:X}" } } → :2:25: any[0].claims.a.not: placeholders work in gateway.yaml only
claims:⏎  name: { matches: "^([\\\\w-]+\\\\.?)+$" }
  :2:20: claims.name.matches: "^([\\\\w-]+\\\\.?)+$" may take too long: from character 3, "[\\\\w-]+" can match the same text in several ways, and the engine tries all of them: write it so that the next character decides how it goes on, or list the values with \`one_of\`
tools:⏎  pay: { arguments: { /to: { not: { matches: "x+$" } } } }
  :2:46: tools.pay.arguments["/to"].not.matches: "x+$" may take too long: from character 1, "x+" is tried anew from each character of the text: begin the pattern with \`^\`, or list the values with \`one_of\`
because: >⏎  Ask support.
  :1:10: because: "Ask support.\\n" is not one line of at most 500 characters, without control characters or invisible ones
because: ${'x'.repeat(501)}
  :1:10: because: expected one line of at most 500 characters, without control characters or invisible ones, found a string
because: "\${file:/run/secrets/x}" → :1:10: because: placeholders work in gateway.yaml only
`),
  )('is refused: %s', async (policy, lines) => {
    const files = { 'policies/x.yaml': `${policy.replaceAll('⏎', '\n')}\n` };
    expect(await refusals({ yaml: base, files })).toEqual(lines.map((line) => `policies/x.yaml${line}`));
  });

  test('is refused: bytes that are no text', async () => {
    const files = { 'policies/x.yaml': Buffer.from([0xff]) };
    expect(await refusals({ yaml: base, files })).toEqual(['policies/x.yaml: is not UTF-8 text']);
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
