/** Whose tokens a subject identifier names (RFC 9493, SSF 1.0 §4). */
import { expect, test } from 'vitest';
import type { RevocationTarget } from '../../../src/model/revocation.ts';
import { namedTokens } from '../../../src/serve/revocation/subjects.ts';
import { RevocationIndex } from '../../../src/store/revocation-index.ts';

const issuer = 'https://as.example';
const at = 1_800_000_000;
const target: RevocationTarget = { name: 'main', issuers: [issuer], tokenIssuer: issuer, isProvider: false };

const person = (sub: string) => ({ format: 'iss_sub', iss: issuer, sub });
const opaque = (id: string) => ({ format: 'opaque', id });
const device = { format: 'opaque', id: 'd1' };

/** The tokens, of those with these claims, that an event about `subject` revokes. */
function revokedBy(subject: unknown, tokens: readonly { sub?: string; iat?: number }[]): readonly boolean[] {
  const index = new RevocationIndex(() => at * 1000);
  const named = namedTokens(subject, [target]);
  if (named.kind !== 'tokens') throw new Error(named.why);
  for (const each of named.tokens) index.add([{ ...each, at, arrivedAt: at }]);
  return tokens.map(({ sub = 'x', iat = at, ...claims }) =>
    index.revokes({ issuer, subject: sub, issuedAt: iat, claims }),
  );
}

const [first, second] = [
  { sub: 'jane', sid: 's1' },
  { sub: 'jane', sid: 's2' },
];
test.each<[title: string, subject: object, revoked: object[], others: object[]]>([
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
    'one session of a person',
    { format: 'complex', user: person('jane'), session: opaque('s1') },
    [first],
    [second, { sub: 'joe', sid: 's1' }, { sub: 'jane' }],
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
])('names %s', (_, subject, revoked, others) => {
  expect(revokedBy(subject, [...revoked, ...others])).toEqual([...revoked.map(() => true), ...others.map(() => false)]);
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
