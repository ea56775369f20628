import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { get } from './requests.ts';
import { type AttackWorld, AUDIENCE, startAttackWorld } from '../worlds/attacks.ts';

/** Values that JavaScript alone coerces to a number under 50, an empty string or an equal one. */
const tricks: readonly unknown[] = [
  undefined,
  null,
  '',
  ' ',
  '0',
  '12',
  '0x10',
  '1e1',
  '012',
  ' 12',
  '12 ',
  '+12',
  '-',
  '１２',
  'Infinity',
  'NaN',
  [],
  [12],
  ['12'],
  [[12]],
  true,
  false,
  {},
  { valueOf: 12 },
  { length: 1, 0: 12 },
  { toString: '12' },
  12.5,
  -0,
];

/** Each operator by a condition, and which of the tricks fulfil it. */
const conditions: Readonly<Record<string, readonly [condition: string, fulfils: (value: unknown) => boolean]>> = {
  below: ['{ below: 50 }', (value) => typeof value === 'number'],
  at_most: ['{ at_most: 50 }', (value) => typeof value === 'number'],
  above: ['{ above: -1 }', (value) => typeof value === 'number'],
  at_least: ['{ at_least: 0 }', (value) => typeof value === 'number'],
  integer: [
    '{ integer: true, below: 50 }',
    (value) => Number.isInteger(value) || value === '0' || value === '12' || value === '012',
  ],
  equals: ['12', () => false],
  equals_text: ['"12"', (value) => value === '12'],
  equals_nothing: ['""', (value) => value === ''],
  equals_true: ['true', (value) => value === true],
  equals_false: ['false', (value) => value === false],
  one_of: ['[1, "12", 0]', (value) => value === '12' || value === 0],
  contains: ['{ contains: 12 }', (value) => Array.isArray(value) && value.includes(12)],
  matches: ['{ matches: "^1" }', (value) => typeof value === 'string' && value.startsWith('1')],
  // Null is what some servers send for what they have no value for.
  present: ['{ present: true }', (value) => value !== undefined && value !== null],
};

let world: AttackWorld;
beforeAll(async () => {
  const names = Object.keys(conditions);
  world = await startAttackWorld({
    routes: names.map(
      (name) =>
        `name: ${name}, path: /claim/${name}, audience: "${AUDIENCE}", policy: ${name}, upstream: { url: "UPSTREAM" }`,
    ),
    policies: Object.fromEntries(names.map((name) => [name, `claims: { risk: ${conditions[name]?.[0]} }\n`])),
  });
});
afterAll(() => world.close());

describe.each(Object.keys(conditions))('%s', (name) => {
  test('holds for values of its type only', async () => {
    const fulfils = conditions[name]?.[1] ?? (() => false);
    for (const risk of tricks) {
      const token = await world.token({ risk });
      const request = get(`/claim/${name}`, token);
      const what = `risk ${JSON.stringify(risk)}`;
      const expected = fulfils(risk)
        ? ({ statuses: [200], reached: ['GET /'] } as const)
        : ({ statuses: [403], reasons: ['claim.denied|policy.error'] } as const);
      await expect(world.withstand(request, expected), what).resolves.toBeDefined();
    }
  });
});

test('does not find claims named after inherited properties, unless the token has them', async () => {
  const paths = [
    '__proto__',
    'constructor',
    'toString',
    '/__proto__/polluted',
    '/constructor/name',
    '/sub/length',
    '/aud/length',
  ];
  const policies = Object.fromEntries(paths.map((path, i) => [`p${i}`, `claims: { "${path}": { present: true } }\n`]));
  const other = await startAttackWorld({
    routes: paths.map(
      (_, i) => `name: p${i}, path: /p/${i}, audience: "${AUDIENCE}", policy: p${i}, upstream: { url: "UPSTREAM" }`,
    ),
    policies,
  });
  const tokens = [
    await other.token(),
    await other.token(JSON.parse('{"own":{"__proto__":{"polluted":true}}}') as Record<string, unknown>),
  ];
  for (const token of tokens) {
    for (const index of paths.keys()) {
      await other.withstand(get(`/p/${index}`, token), { statuses: [403], reasons: ['claim.denied|policy.error'] });
    }
  }
  const own = await other.token(JSON.parse('{"__proto__":{"polluted":true}}') as Record<string, unknown>);
  await other.withstand(get('/p/1', own), { statuses: [403], reasons: ['claim.denied'] });
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  await other.close();
});
