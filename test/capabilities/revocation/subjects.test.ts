/** Whose tokens a subject identifier names (RFC 9493, SSF 1.0 §4). */
import { expect, test } from 'vitest';
import type { RevocationTarget } from '../../../src/capabilities/revocation/sources.ts';
import { namedTokens } from '../../../src/capabilities/revocation/subjects.ts';
import { among, RevocationIndex } from '../../../src/capabilities/revocation/revocation-index.ts';

const issuer = 'https://as.example';
const at = 1_800_000_000;
const target: RevocationTarget = { name: 'main', issuers: [issuer], tokenIssuer: issuer, isProvider: false };

const person = (sub: string) => ({ format: 'iss_sub', iss: issuer, sub });
const opaque = (id: string) => ({ format: 'opaque', id });
const device = { format: 'opaque', id: 'd1' };

/** The tokens, of those with these claims, that an event about `subject` revokes. */
function revokedBy(subject: unknown, tokens: readonly Token[]): readonly boolean[] {
  const index = new RevocationIndex(() => at * 1000);
  const named = namedTokens(subject, [target]);
  if (named.kind !== 'tokens') throw new Error(named.why);
  for (const each of named.tokens) index.add([{ ...each, at, arrivedAt: at }]);
  return tokens.map((token) => index.revokes(principalOf(token)));
}

interface Token {
  readonly sub?: string;
  readonly iat?: number;
  readonly client?: string;
  readonly [claim: string]: unknown;
}

function principalOf({ sub = 'x', iat = at, client, ...claims }: Token) {
  return { issuer, subject: sub, issuedAt: iat, claims, clientId: client };
}

const [first, second] = [
  { sub: 'jane', sid: 's1' },
  { sub: 'jane', sid: 's2' },
];
const named: [title: string, subject: object, revoked: Token[], others: Token[]][] = [
  ['a person', person('jane'), [first, { sub: 'jane' }], [{ sub: 'joe' }, { sub: 'jane', iat: at + 1 }]],
  ['a person, as Google writes it', { ...person('jane'), format: undefined, subject_type: 'iss-sub' }, [first], [{}]],
  [
    'an address, in any case, unless the address was not verified',
    { format: 'email', email: 'Alice@Example.com' },
    [{ email: 'ALICE@example.com' }],
    [{ email: 'alice@example.com', email_verified: false }, { email: 'bob@example.com' }],
  ],
  ['an opaque id: a subject of the server', opaque('jane'), [first], [{ sub: 'joe' }]],
  [
    'one token, whatever its iat',
    { format: 'jwt_id', iss: issuer, jti: 'a' },
    [{ jti: 'a', iat: at + 3 }],
    [{ jti: 'b' }],
  ],
  [
    'an application: a client',
    { format: 'complex', application: opaque('bot') },
    [{ client: 'bot' }],
    [{ client: 'b' }],
  ],
  [
    'an application of the issuer, for one person',
    { format: 'complex', user: person('jane'), application: { format: 'iss_sub', iss: issuer, sub: 'bot' } },
    [{ sub: 'jane', client: 'bot' }, { sub: 'jane' }],
    [
      { sub: 'joe', client: 'bot' },
      { sub: 'jane', client: 'other' },
    ],
  ],
  [
    'an application beside a session is left out',
    { format: 'complex', session: opaque('s1'), application: opaque('bot') },
    [{ ...first, client: 'other' }],
    [{ ...second, client: 'bot' }],
  ],
  [
    'one session of a person',
    { format: 'complex', user: person('jane'), session: opaque('s1') },
    [first],
    [second, { sub: 'joe', sid: 's1' }, { sub: 'joe' }, { sub: 'jane', sid: 's2', iat: at - 9 }],
  ],
  [
    'one session of a person: also the tokens of the person that name no session',
    { format: 'complex', user: person('jane'), session: opaque('s1') },
    [{ sub: 'jane' }, { sub: 'jane', sid: '' }, { sub: 'jane', sid: 7 }],
    [{ sub: 'jane', iat: at + 1 }, { sub: 'joe' }],
  ],
  [
    'one session of an address: also the tokens of the address without a session, and of the session without an address',
    { format: 'complex', user: { format: 'email', email: 'a@example.com' }, session: opaque('s1') },
    [
      { email: 'a@example.com', sid: 's1' },
      { email: 'A@example.com' },
      { sid: 's1' },
      { sid: 's1', email: 'b@example.com', email_verified: false },
    ],
    [{ email: 'b@example.com', sid: 's1' }, { email: 'a@example.com', sid: 's2' }, {}, { sid: 's2' }],
  ],
  [
    'one token of a person: also the tokens of the person without jti',
    { format: 'complex', user: person('jane'), session: { format: 'jwt_id', iss: issuer, jti: 'a' } },
    [{ sub: 'jane', jti: 'a', iat: at + 3 }, { sub: 'jane' }],
    [{ sub: 'jane', jti: 'b' }, { sub: 'joe' }],
  ],
  ['a session alone', { format: 'complex', session: opaque('s1') }, [first, { sub: 'joe', sid: 's1' }], [second]],
  [
    'a person on a device that is not known: the person',
    { format: 'complex', user: person('jane'), device },
    [first],
    [{}],
  ],
  [
    'each of several aliases',
    { format: 'aliases', identifiers: [person('jane'), opaque('joe'), { format: 'did', url: 'did:a' }] },
    [first, { sub: 'joe' }],
    [{}],
  ],
];

test.each(named)('names %s', (_, subject, revoked, others) => {
  expect(revokedBy(subject, [...revoked, ...others])).toEqual([...revoked.map(() => true), ...others.map(() => false)]);
});

test.each(named)('drops from caches what would be revoked of %s', (_, subject, revoked, others) => {
  const reading = namedTokens(subject, [target]);
  const isMeant = among(reading.kind === 'tokens' ? reading.tokens : []);
  const isDropped = (token: Token): boolean => isMeant(principalOf(token));
  expect(revoked.filter((token) => !isDropped(token))).toEqual([]);
  // A later token is cached as well.
  expect(others.filter((token) => isDropped(token) && (token.iat ?? at) <= at)).toEqual([]);
});

test('a part of a revocation is forgotten with the last one that it is of', () => {
  const clock = { seconds: at };
  const index = new RevocationIndex(() => clock.seconds * 1000);
  index.keepFor(100_000);
  const revoke = (session: string, time: number) =>
    index.add([{ issuer, subject: 'jane', session, at: time, arrivedAt: clock.seconds }]);
  const isRevoked = () => index.revokes(principalOf({ sub: 'jane', iat: at - 50 }));
  revoke('s1', at);
  clock.seconds += 60;
  revoke('s2', at - 30);
  expect([index.size, isRevoked()]).toEqual([2, true]);
  clock.seconds += 60;
  expect([index.size, isRevoked()]).toEqual([1, true]);
  clock.seconds += 700;
  expect([index.size, isRevoked()]).toEqual([0, false]);
});

test.each<[title: string, subject: unknown, kind: string, critical?: string[]]>([
  ['an issuer that the source may not revoke', { ...person('jane'), iss: 'https://elsewhere.example' }, 'foreign'],
  ['a telephone', { format: 'phone_number', phone_number: '+12065550100' }, 'not_understood'],
  ['a tenant alone', { format: 'complex', tenant: opaque('t') }, 'not_understood'],
  ['a text', 'jane', 'malformed'],
  ['nothing', undefined, 'malformed'],
  ['no format', { sub: 'jane' }, 'malformed'],
  ['no members', { format: 'iss_sub' }, 'malformed'],
  ['aliases of aliases', { format: 'aliases', identifiers: [{ format: 'aliases', identifiers: [] }] }, 'malformed'],
  [
    'a critical member that is not understood',
    { format: 'complex', user: person('jane'), tenant: opaque('t') },
    'malformed',
    ['user', 'tenant'],
  ],
])('%s names no tokens: %s', (_, subject, kind, critical = []) => {
  expect(namedTokens(subject, [target], critical)).toMatchObject({ kind });
});
