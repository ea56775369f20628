import { expect, test } from 'vitest';
import type { Attempt } from '../../src/model/policy.ts';
import { compilePolicy } from '../../src/policy/compile.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { type Given, call, caller, decide, message } from './caller.ts';

const risk: PolicyDocument = { claims: { risk: { integer: true, below: 50 } } };

test.each<[PolicyDocument, Given, Attempt | undefined, string]>([
  [risk, { claims: { risk: '72' } }, undefined, 'claim risk: wanted an integer below 50, found "72"'],
  [risk, { claims: { risk: 'high' } }, undefined, 'claim risk: wanted an integer, found "high"'],
  [risk, {}, undefined, 'claim risk: wanted an integer, found nothing'],
  [risk, { claims: { risk: [1, 2] } }, undefined, 'claim risk: wanted an integer, found an array of 2'],
  [
    { claims: { '/a/b': ['x', 'y'] } },
    { claims: { a: { b: { secret: 1 } } } },
    undefined,
    'claim /a/b: wanted one of "x", "y", found an object of 1',
  ],
  [
    { claims: { ai_agent: { not: true } } },
    { claims: { ai_agent: true } },
    undefined,
    'claim ai_agent: wanted not true (or another type), found true',
  ],
  [{ scope: 'a b c' }, { scope: 'b' }, undefined, 'wanted scope "a b c", missing "a c"'],
  [
    { scope: 'read', tools: { pay: { scope: 'payments' } } },
    { scope: 'read' },
    call('pay'),
    'wanted scope "read payments", missing "payments"',
  ],
  [{ max_lifetime: '1m' }, { lifetime: 900 }, undefined, 'wanted a lifetime (exp - iat) of at most 60 s, found 900 s'],
  [
    { max_lifetime: '1m' },
    { lifetime: null },
    undefined,
    'wanted a lifetime (exp - iat) of at most 60 s, found no exp',
  ],
  [{ not: {} }, {}, undefined, 'wanted its conditions not to hold, found that they all do'],
  [
    { any: [{ scope: 'x', claims: { a: 1 } }, { not: {} }, { any: [{ claims: { b: 2 } }] }] },
    {},
    undefined,
    'none of 3 alternatives holds: claim a: wanted 1, found nothing; wanted its conditions not to hold, found that they ' +
      'all do; none of 1 alternatives holds: claim b: wanted 2, found nothing',
  ],
  [
    { any: [{ claims: { a: 1 } }, { max_lifetime: '1m' }] },
    {},
    undefined,
    'none of 2 alternatives holds: claim a: wanted 1, found nothing; wanted a lifetime (exp - iat) of at most 60 s, found 900 s',
  ],
  [
    { tools: {} },
    {},
    call('x\ny'),
    String.raw`wanted a tool that is listed, found "x\ny": only an exact entry covers a name that some servers read as "xy"`,
  ],
  [{ tools: {} }, {}, call(undefined), 'wanted a tool that is listed, found nothing'],
  [
    { tools: {} },
    {},
    message('tasks/list'),
    'wanted a method that is listed or protocol housekeeping, found "tasks/list": only an exact entry covers it',
  ],
  [
    { tools: {} },
    {},
    message('tasks/find'),
    'wanted a method that is listed or protocol housekeeping, found "tasks/find"',
  ],
  [{ tools: {} }, {}, message('prompts/get', 'prompt p'), 'wanted a prompt that is listed, found "p"'],
  [{ tools: {} }, {}, message('resources/read', 'resource a:b'), 'wanted a resource that is listed, found "a:b"'],
  [
    { resources: { 'x:**': {} } },
    {},
    message('resources/read', 'resource x:a/../b'),
    'wanted a resource that is listed, found "x:a/../b": only an exact entry covers a URI with a dot segment',
  ],
  [
    { resources: {} },
    {},
    message('completion/complete', 'template x:{y}'),
    'wanted a resource template that is listed, found "x:{y}"',
  ],
  // The name as some servers read it: of URIs decoded, of others as it stands.
  ...[
    ['resource', 'resources/read', 'resource x:/a%20/b', '"x:/a%20/b"', '"x:/a/b"'],
    ['resource template', 'completion/complete', 'template x:/{y}/b%20', '"x:/{y}/b%20"', '"x:/{y}/b"'],
    ['tool', 'tools/call', 'tool A%20', '"A%20"', '"a%20"'],
  ].map(([what, method, target, name, plain]): [PolicyDocument, Given, Attempt, string] => [
    { tools: {}, resources: {} },
    {},
    message(method, target ?? ''),
    `wanted a ${what} that is listed, found ${name}: only an exact entry covers a name that some servers read as ${plain}`,
  ]),
  [
    { claims: { '/a/b': 1 } },
    { claims: { a: '{"b":1}' } },
    undefined,
    'claim /a/b: wanted 1, found a value on the way to it that is not an object',
  ],
  // Arguments are a part of the request's body: their values are not told.
  ...(
    [
      [{}, 'nothing'],
      [{ a: null }, 'null'],
      [{ a: 's3cr3t' }, 'another string'],
      [{ a: 2 }, 'another number'],
      [{ a: ['s3cr3t'] }, 'an array'],
      [{ a: { b: 1 } }, 'an object'],
    ] as const
  ).map(
    ([args, found]) =>
      [{ tools: { t: { arguments: { '/a': 1 } } } }, {}, call('t', args), `argument /a: wanted 1, found ${found}`] as [
        PolicyDocument,
        Given,
        Attempt,
        string,
      ],
  ),
])('%j, %j, %j: %s', (document, given, attempt, expected) => {
  const decision = decide(document, given, attempt);
  expect(decision).toMatchObject({ allow: false, denial: { detail: expected } });
});

test('names the missing iat of a token that has only exp', () => {
  const principal = { ...caller(), issuedAt: undefined };
  const decision = compilePolicy('test', { max_lifetime: '1m' }).decide(principal, { kind: 'http' });
  expect(decision).toMatchObject({
    denial: { reason: 'lifetime.exceeded', detail: 'wanted a lifetime (exp - iat) of at most 60 s, found no iat' },
  });
});
