import { describe, expect, test } from 'vitest';
import { actorsIn } from '../../src/ports/actors.ts';
import type { Claims } from '../../src/core/model/principal.ts';

const issuer = 'https://as.example';

describe('RFC 8693 §4.1 — the chain of actors', () => {
  test.for<[string, Claims, unknown]>([
    ['without act', {}, undefined],
    ['one actor', { act: { sub: 'a' } }, [{ issuer, subject: 'a' }]],
    ['an actor of another issuer', { act: { sub: 'a', iss: 'https://b' } }, [{ issuer: 'https://b', subject: 'a' }]],
    [
      'the current actor first',
      { act: { sub: 'a', act: { sub: 'b', client_id: 'x' } } },
      [
        { issuer, subject: 'a' },
        { issuer, subject: 'b' },
      ],
    ],
    ['act is null', { act: null }, 'act is null; it must be an object'],
    ['act is a text', { act: 'a' }, 'act is "a"; it must be an object'],
    ['act is a list', { act: [{ sub: 'a' }] }, 'act is an array of 1; it must be an object'],
    ['without sub', { act: {} }, 'act.sub is nothing; it must be a string that is not empty'],
    ['an empty sub', { act: { sub: '' } }, 'act.sub is ""; it must be a string that is not empty'],
    [
      'an inherited sub',
      { act: Object.create({ sub: 'a' }) },
      'act.sub is nothing; it must be a string that is not empty',
    ],
    ['a nested null', { act: { sub: 'a', act: null } }, 'act.act is null; it must be an object'],
    [
      'a nested number',
      { act: { sub: 'a', act: { sub: 5 } } },
      'act.act.sub is 5; it must be a string that is not empty',
    ],
    ['an issuer of another type', { act: { sub: 'a', iss: 5 } }, 'act.iss is 5; it must be a string that is not empty'],
    ['nine actors', { act: nested(9) }, 'act names more than 8 actors'],
  ])('%s', ([, claims, expected]) => {
    expect(actorsIn(claims, issuer)).toEqual(expected);
  });

  test('eight actors are read', () => {
    expect(actorsIn({ act: nested(8) }, issuer)).toHaveLength(8);
  });
});

function nested(depth: number): object {
  return depth === 1 ? { sub: 'a' } : { sub: 'a', act: nested(depth - 1) };
}
