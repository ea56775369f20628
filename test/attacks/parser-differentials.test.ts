import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Reason } from '../../src/model/reasons.ts';
import { callOf, post } from './requests.ts';
import { type AttackWorld, startAttackWorld } from '../worlds/attacks.ts';

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld({
    policies: {
      tools: 'scope: read\ntools:\n  get_price: { arguments: { /amount: { at_most: 1 } } }\n  "*_read": {}\n',
    },
  });
});
afterAll(() => world.close());

async function expectRefused(body: string | Buffer, ...reasons: readonly [Reason, Reason?]): Promise<void> {
  const reason = reasons.join('|') as Reason;
  const { answers } = await world.withstand(post(world.authorization, body), { statuses: [400], reasons: [reason] });
  expect(answers[0]).toMatch(/"code":-32(?:700|600)/);
}

const good = callOf('get_price', { amount: 1 });

/** Each key that decides, what it says here, and what an attacker would have another parser read. */
const keys: readonly (readonly [key: string, evil: string])[] = [
  ['jsonrpc', '"1.0"'],
  ['id', '2'],
  ['method', '"resources/read"'],
  ['params', '{"name":"pay"}'],
  ['name', '"pay"'],
  ['arguments', '{"amount":1000}'],
  ['amount', '1000'],
];

/** How another parser may come to read a key of another spelling as this one. */
const spellings: readonly (readonly [what: string, spell: (key: string) => string])[] = [
  ['the same again', (key) => key],
  ['capitals', (key) => key.toUpperCase()],
  ['one capital', (key) => key.slice(0, -1) + key.slice(-1).toUpperCase()],
  ['an escape', (key) => `\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${key.slice(1)}`],
  [
    'an escape in capitals',
    (key) => key.slice(0, -1) + `\\u00${(key.at(-1) ?? '').charCodeAt(0).toString(16).toUpperCase()}`,
  ],
  [
    'fullwidth letters',
    (key) => key.replaceAll(/[a-z]/g, (c) => String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfee0)),
  ],
  ['an end as C has it', (key) => `${key}\\u0000`],
  ['more after an end as C has it', (key) => `${key}\\u0000x`],
];
const folds: readonly (readonly [what: string, spell: (key: string) => string])[] = [
  ['ſ for s', (key) => key.replace('s', 'ſ')],
  ['K (Kelvin) for k', (key) => key.replace('k', '\u212A')],
  ['ı for i', (key) => key.replace('i', 'ı')],
];

/** The message with one more member of the object that has `key`, before or after it. */
function withRival(key: string, rival: string, place: 'before' | 'after'): string {
  if (key === 'params' && place === 'after') return good.replace(/\}$/, `,${rival}}`);
  const [, member = ''] = new RegExp(`("${key}":(?:"[^"]*"|\\d+|\\{.*?\\}))`).exec(good) ?? [];
  return good.replace(member, place === 'before' ? `${rival},${member}` : `${member},${rival}`);
}

describe('refuses a key that another parser may read as a decisive one', () => {
  test.each(keys)('%s', async (key, evil) => {
    for (const [, spell] of [...spellings, ...folds]) {
      const spelled = spell(key);
      // Where there is nothing to fold it is the same key again.
      for (const place of ['before', 'after'] as const) {
        await expectRefused(withRival(key, `"${spelled}":${evil}`, place), 'body.ambiguous');
      }
    }
  });

  test.each(keys.filter(([key]) => key !== 'id' && key !== 'amount'))('%s, alone', async (key) => {
    for (const [what, spell] of spellings) {
      if (what === 'the same again' || what.startsWith('an escape')) continue;
      await expectRefused(good.replace(`"${key}"`, `"${spell(key)}"`), 'body.ambiguous', 'body.message');
    }
  });

  test('decides on an escaped key, and forwards it unchanged', async () => {
    const body = good.replace('"name"', '"n\\u0061me"').replace('"method"', '"\\u006Dethod"');
    const { reached } = await world.withstand(post(world.authorization, body), {
      statuses: [200],
      reached: ['POST /mcp'],
      reasons: ['allow'],
    });
    expect(reached[0]?.body).toBe(body);
  });
});

test('refuses a name with a NUL, which C would cut short', async () => {
  for (const name of ['pay\\u0000_read', 'pay\\u0000 _read', '\\u0000_read']) {
    const body = callOf('NAME').replace('NAME', name);
    await expectRefused(body, 'body.ambiguous');
  }
});

describe('refuses text that only some parsers accept as JSON', () => {
  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['a comma more', good.replace('}}}', '},}}')],
    ['a comment', `/* */${good}`],
    ['a line comment', `${good}//`],
    ['single quotes', good.replaceAll('"', "'")],
    ['a key without quotes', good.replace('"method"', 'method')],
    ['NaN', good.replace(':1}', ':NaN}')],
    ['Infinity', good.replace(':1}', ':-Infinity}')],
    ['a hexadecimal number', good.replace(':1}', ':0x1}')],
    ['a leading zero', good.replace(':1}', ':01}')],
    ['a leading plus', good.replace(':1}', ':+1}')],
    ['no digit after the point', good.replace(':1}', ':1.}')],
    ['a control character', good.replace('get_price', 'get_\tprice')],
    ['a NUL', `${good}\0`],
    ['an unknown escape', good.replace('get_price', 'get\\_price')],
    ['a short escape', good.replace('get_price', 'get\\u5fprice')],
    ['two values', `${good}${good}`],
    ['two lines of values', `${good}\n${good}`],
    ['the space of another alphabet', `\u00A0${good}`],
    ['a form feed', `\f${good}`],
    ['a byte order mark', `\uFEFF${good}`],
    ['UTF-16', Buffer.from(good, 'utf16le')],
    [
      'an overlong slash',
      Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools'),
        Buffer.from([0xc0, 0xaf]),
        Buffer.from('call"}'),
      ]),
    ],
    ['half a character', Buffer.concat([Buffer.from(good.slice(0, -1)), Buffer.from([0xe2, 0x82])])],
  ])('%s', async (_what, body) => {
    await expectRefused(body, 'body.malformed');
  });

  test.each<[string, string]>([
    ['a lone surrogate', good.replace('get_price', 'get_\\ud800')],
    ['10,000 arrays', good.replace(':1}', `:${'['.repeat(10_000)}${']'.repeat(10_000)}}`)],
    ['20,000 keys', good.replace(':1}', `:{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join()}}}`)],
  ])('%s', async (_what, body) => {
    await expectRefused(body, 'body.ambiguous');
  });
});

test('refuses the key __proto__, and reads no inherited property for a key such as constructor', async () => {
  for (const [key, reason] of [
    ['__proto__', 'body.ambiguous'],
    ['constructor', 'body.message'],
    ['prototype', 'body.message'],
  ] as const) {
    const inherited = `{"jsonrpc":"2.0","id":1,"${key}":{"method":"tools/call","params":{"name":"get_price"}}}`;
    await expectRefused(inherited, reason);
    const named = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"${key}":{"name":"get_price"}}}`;
    await expectRefused(named, reason);
  }
});
