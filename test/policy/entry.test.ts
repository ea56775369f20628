import { describe, expect, test } from 'vitest';
import type { Attempt } from '../../src/model/policy.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { type Given, call, decide, told } from './caller.ts';

type Row = readonly [given: Given, attempt: Attempt, told: string];

const trader = { claims: { role: 'trader' } };

const table: readonly (readonly [string, PolicyDocument, readonly Row[]])[] = [
  [
    'conditions on arguments come after claims and before scopes',
    {
      scope: 'read',
      tools: {
        pay: {
          scope: 'payments',
          claims: { role: 'trader' },
          arguments: { '/amount': { at_most: 1000 }, '/to/0/iban': { matches: '^SE' }, '/test': { present: false } },
          max_lifetime: '1h',
        },
      },
    },
    [
      [{ scope: 'read payments', ...trader }, call('pay', { amount: 1000, to: [{ iban: 'SE1' }] }), 'allow tools.pay'],
      [
        { scope: 'read payments', ...trader },
        call('pay', { amount: 1001, to: [{ iban: 'SE1' }] }),
        'deny argument.denied tools.pay.arguments./amount',
      ],
      [{ scope: 'read', ...trader }, call('pay', { amount: 1001 }), 'deny argument.denied tools.pay.arguments./amount'],
      [{ ...trader }, call('pay', { amount: 1001 }), 'deny argument.denied tools.pay.arguments./amount'],
      [
        { ...trader, lifetime: null },
        call('pay', { amount: 1001 }),
        'deny argument.denied tools.pay.arguments./amount',
      ],
      [{ scope: 'read payments' }, call('pay', { amount: 1001 }), 'deny claim.denied tools.pay.claims.role'],
      [
        { ...trader },
        call('pay', { amount: 1, to: [{ iban: 'SE1' }] }),
        'deny scope.insufficient scope [read payments]',
      ],
      [{ ...trader }, call('pay', { amount: '1' }), 'deny argument.denied tools.pay.arguments./amount'],
      [{ ...trader }, call('pay', { amount: 1, to: ['SE1'] }), 'deny argument.denied tools.pay.arguments./to/0/iban'],
      [
        { ...trader },
        call('pay', { amount: 1, to: [{ iban: 'SE1' }], test: 1 }),
        'deny argument.denied tools.pay.arguments./test',
      ],
      ...[undefined, null, [], 'amount', 7].map((args): Row => [
        { ...trader },
        call('pay', args),
        'deny argument.denied tools.pay.arguments./amount',
      ]),
      [
        { scope: 'read payments', ...trader },
        call('pay', { amount: 1, to: [{ iban: `SE${'1'.repeat(5000)}` }] }),
        'deny policy.error policy',
      ],
    ],
  ],
  [
    'R-92: no value of another type, and nothing on the way, gets round a condition that excludes something',
    {
      tools: {
        pay: { arguments: { '/amount': { not: { above: 1000 } }, '/options/as_admin': { present: false } } },
        show: { arguments: { '/options/as_admin': { not: true } } },
        list: { arguments: { '/tags': { not: { contains: 'secret' } }, '/owner': { not: { matches: '^root' } } } },
        count: { arguments: { '/n': { not: { integer: true, at_least: 10 } } } },
      },
    },
    [
      ...[undefined, {}, { amount: 1000 }, { options: null }, { options: {} }, { options: { as_admin: null } }].map(
        (args): Row => [{}, call('pay', args), 'allow tools.pay'],
      ),
      ...['5000', '1', [5000], null, { value: 5000 }, { valueOf: 5000 }, true, 5000, Infinity].map((amount): Row => [
        {},
        call('pay', { amount }),
        'deny argument.denied tools.pay.arguments./amount',
      ]),
      ...[
        '{"as_admin":true}',
        [['as_admin', true]],
        ['as_admin'],
        [{ as_admin: true }],
        7,
        true,
        { as_admin: true },
      ].map((options): Row => [
        {},
        call('pay', { options }),
        'deny argument.denied tools.pay.arguments./options/as_admin',
      ]),
      ...['{"as_admin":true}', [{ as_admin: true }], { as_admin: 'true' }, { as_admin: 1 }, { as_admin: [true] }].map(
        (options): Row => [
          {},
          call('show', { options }),
          'deny argument.denied tools.show.arguments./options/as_admin',
        ],
      ),
      ...['secret', 'a,secret', [['secret']], { 0: 'secret' }].map((tags): Row => [
        {},
        call('list', { tags }),
        'deny argument.denied tools.list.arguments./tags',
      ]),
      [{}, call('list', { owner: ['root'] }), 'deny argument.denied tools.list.arguments./owner'],
      ...['10.0', '0x10', [10], 10, '10'].map((n): Row => [
        {},
        call('count', { n }),
        'deny argument.denied tools.count.arguments./n',
      ]),
      [{}, call('show', { options: { as_admin: false } }), 'allow tools.show'],
      [{}, call('list', { tags: ['public'], owner: 'alice' }), 'allow tools.list'],
      [{}, call('count', { n: 9 }), 'allow tools.count'],
      [{}, call('count', { n: '9' }), 'allow tools.count'],
      ...['{"amount":5000}', ['amount', 5000]].map((args): Row => [
        {},
        call('pay', args),
        'deny argument.denied tools.pay.arguments./amount',
      ]),
    ],
  ],
  [
    'an argument is own, or missing',
    { tools: { t: { arguments: { '/constructor': { present: true } } } } },
    [
      [{}, call('t', { constructor: 1 }), 'allow tools.t'],
      [{}, call('t', {}), 'deny argument.denied tools.t.arguments./constructor'],
    ],
  ],
];

describe.each(table)('%s', (_, document, rows) => {
  test.each(rows)('%j, %j: %s', (given, attempt, expected) => {
    expect(told(decide(document, given, attempt))).toBe(expected);
  });
});
