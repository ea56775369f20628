import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Reason } from '../../src/model/reasons.ts';
import { callOf, get, post } from './requests.ts';
import { type AttackWorld, AUDIENCE, startAttackWorld } from '../worlds/attacks.ts';

/** Conditions on claims that exclude something, and the values that are plainly something else. */
const exclusions: Readonly<Record<string, readonly [policy: string, passes: (value: unknown) => boolean]>> = {
  above: [
    'claims: { risk: { not: { above: 50 } } }',
    (value) => value === undefined || (typeof value === 'number' && value <= 50),
  ],
  nested: [
    'not: { claims: { risk: { above: 50 } } }',
    (value) => value === undefined || (typeof value === 'number' && value <= 50),
  ],
  equals: ['claims: { risk: { not: true } }', (value) => value === undefined || value === false],
  matches: [
    'claims: { risk: { not: { matches: "^7" } } }',
    (value) => value === undefined || (typeof value === 'string' && !value.startsWith('7')),
  ],
  below: ['claims: { /risk/high: { present: false } }', (value) => value === undefined || value === null],
};

let world: AttackWorld;
beforeAll(async () => {
  const names = Object.keys(exclusions);
  world = await startAttackWorld({
    routes: names.map(
      (name) =>
        `name: ${name}, path: /claim/${name}, audience: "${AUDIENCE}", policy: ${name}, upstream: { url: "UPSTREAM" }`,
    ),
    policies: {
      ...Object.fromEntries(names.map((name) => [name, `${exclusions[name]?.[0]}\n`])),
      tools: `scope: read
tools:
  pay: { arguments: { /amount: { not: { above: 1000 } } } }
  open: { arguments: { /options/as_admin: { present: false } } }
  show: { arguments: { /options/as_admin: { not: true } } }
  list: { arguments: { /tags: { not: { contains: secret } }, /owner: { not: { matches: "^root" } } } }
  count: { arguments: { /n: { not: { integer: true, at_least: 10 } } } }
`,
    },
  });
});
afterAll(() => world.close());

const raw = (tool: string, args: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":${args}}}`;

describe('R-92: an argument that a policy excludes', () => {
  test.each<[tool: string, args: string]>([
    ['pay', '{"amount":5000}'],
    ['pay', '{"amount":"5000"}'],
    ['pay', '{"amount":"1"}'],
    ['pay', '{"amount":[5000]}'],
    ['pay', '{"amount":null}'],
    ['pay', '{"amount":1e999}'],
    ['pay', '{"amount":{"value":5000}}'],
    ['open', '{"options":{"as_admin":true}}'],
    ['open', '{"options":"{\\"as_admin\\":true}"}'],
    ['open', '{"options":[{"as_admin":true}]}'],
    ['open', '{"options":["as_admin"]}'],
    ['open', '{"options":1}'],
    ['show', '{"options":"{\\"as_admin\\":true}"}'],
    ['show', '{"options":{"as_admin":"true"}}'],
    ['show', '{"options":{"as_admin":1}}'],
    ['show', '{"options":{"as_admin":[true]}}'],
    ['list', '{"tags":"secret"}'],
    ['list', '{"tags":"a,secret"}'],
    ['list', '{"tags":[["secret"]]}'],
    ['list', '{"tags":{"0":"secret"}}'],
    ['list', '{"owner":["root"]}'],
    ['count', '{"n":"10.0"}'],
    ['count', '{"n":"0x10"}'],
    ['count', '{"n":[10]}'],
  ])('is refused for %s in another type: %s', async (tool, args) => {
    await world.withstand(post(world.authorization, raw(tool, args)), {
      statuses: [403],
      reasons: ['argument.denied'],
    });
  });

  test.each<[tool: string, args: string]>([
    ['pay', '{"amount":1000}'],
    ['pay', '{}'],
    ['open', '{"options":{}}'],
    ['open', '{"options":{"other":1}}'],
    ['show', '{"options":{"as_admin":false}}'],
    ['list', '{"tags":["public"],"owner":"alice"}'],
    ['count', '{"n":9}'],
    ['count', '{"n":"9"}'],
  ])('is allowed if %s is absent, with %s', async (tool, args) => {
    await world.withstand(post(world.authorization, raw(tool, args)), { statuses: [200], reached: ['POST /mcp'] });
  });
});

describe('refuses arguments that only some parsers read as an object', () => {
  test.each<[args: string, reason: Reason]>([
    ['"{\\"options\\":{\\"as_admin\\":true}}"', 'body.message'],
    ['[{"options":{"as_admin":true}}]', 'body.message'],
    ['["options"]', 'body.message'],
    ['true', 'body.message'],
    ['null', 'body.message'],
    ['{"__proto__":{"options":{"as_admin":true}}}', 'body.ambiguous'],
    ['{"options":{"__proto__":{"as_admin":true}}}', 'body.ambiguous'],
    ['{"options":{"__pr\\u006fto__":{"as_admin":true}}}', 'body.ambiguous'],
  ])('%s', async (args, reason) => {
    const { answers } = await world.withstand(post(world.authorization, raw('open', args)), {
      statuses: [400],
      reasons: [reason],
    });
    expect(answers[0]).toContain('"code":-32600');
  });

  test('treats a call without arguments as one with empty arguments', async () => {
    const body = callOf('open').replace(',"arguments":{}', '');
    expect(body).not.toContain('arguments');
    await world.withstand(post(world.authorization, body), { statuses: [200], reached: ['POST /mcp'] });
  });
});

describe.each(Object.keys(exclusions))('a claim that a policy excludes: %s', (name) => {
  test('is allowed only with a clearly different value', async () => {
    const passes = exclusions[name]?.[1] ?? (() => false);
    const values = [
      undefined,
      null,
      7,
      50,
      72,
      '7',
      '72',
      'x',
      [72],
      { high: 1 },
      '{"high":1}',
      [],
      true,
      false,
      'true',
    ];
    for (const risk of values) {
      const expected = passes(risk)
        ? ({ statuses: [200], reached: ['GET /'] } as const)
        : ({ statuses: [403], reasons: ['claim.denied|exclusion.matched'] } as const);
      const request = get(`/claim/${name}`, await world.token({ risk }));
      await expect(world.withstand(request, expected), JSON.stringify(risk)).resolves.toBeDefined();
    }
  });
});
