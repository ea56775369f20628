import { describe, expect, test } from 'vitest';
import { createAuthenticators, createRevocationGuard } from '../../src/tokens/authenticator.ts';
import { unlimitedFailures } from '../../src/tokens/failures.ts';
import type { AuthorizationServer } from '../../src/core/model/authorization-server.ts';
import type { AuthorizationServerClient } from '../../src/ports/authorization-server-client.ts';
import { refusals, type Reason } from '../../src/core/model/reasons.ts';
import type { Confirmation, Principal } from '../../src/core/model/principal.ts';
import type { Route } from '../../src/core/model/route.ts';
import { bearer } from '../support/bearer.ts';

const jwt = { algorithms: ['ES256'], types: ['at+jwt'], jwksUri: undefined };
const explains = { cacheMs: 0, audience: 'required', response: { kind: 'json' }, credentials: { clientId: 'gateway' } };
const opaqueOnly = { name: 'opaque', issuer: 'https://opaque.example', introspection: explains };
const jwtOnly = { name: 'jwt', issuer: 'https://jwt.example', jwt };
const lenient = {
  name: 'lenient',
  issuer: 'https://lenient.example',
  introspection: { ...explains, audience: 'optional' },
};
const prefixed = {
  name: 'prefixed',
  issuer: 'https://prefixed.example',
  introspection: { ...explains, prefix: 'bank_' },
};
const claimed = {
  name: 'claimed',
  issuer: 'https://claimed.example',
  jwt,
  introspection: explains,
  audienceClaim: 'cid',
};
const servers = [opaqueOnly, jwtOnly, lenient, prefixed, claimed] as unknown as readonly AuthorizationServer[];

const proofs = { required: false, algorithms: ['ES256'] };
const byKey: Confirmation = { jwkThumbprint: 'k', certificateThumbprint: undefined };
const byCertificate: Confirmation = { jwkThumbprint: undefined, certificateThumbprint: 'c' };

/** Remembers a day, and one revocation. */
const revocation = createRevocationGuard(
  { isReady: () => true, refusing: ({ subject }) => (subject === 'revoked' ? { at: 5 } : undefined) },
  86_400_000,
  Date.now,
);

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const jwtText = `${part({ alg: 'ES256' })}.${part({})}.AA`;

const authenticators = createAuthenticators(() => {}, Date.now);
await authenticators.prepare(servers);

/** What a route makes of a caller whose token was validated under another configuration. */
function accept(
  otherwise: Partial<Principal>,
  route: Partial<Route> = {},
  token = otherwise.form === 'jwt' ? jwtText : 't',
  guard: typeof revocation | null = revocation,
): Principal {
  const clients = new Map(servers.map((server) => [server.name, { server } as AuthorizationServerClient]));
  const whole = { authorizationServers: servers, audiences: ['r', 's'], tokens: new Set(['jwt', 'opaque']), ...route };
  return authenticators(
    clients,
    new Map([['write', ['read']]]),
    unlimitedFailures,
    guard ?? undefined,
  )(whole as Route, (principal) => principal).accept(
    {
      issuer: opaqueOnly.issuer,
      form: 'opaque',
      audience: ['x', 's'],
      claims: { aud: ['x', 's'] },
      grantedScopes: ['write'],
      scopes: new Set(),
      ...otherwise,
    } as Principal,
    bearer(token),
  );
}

const ofJwt = (algorithm: string, type: string): Partial<Principal> => ({
  issuer: jwtOnly.issuer,
  form: 'jwt',
  signature: { algorithm, type },
  issuedAt: Date.now() / 1000,
});
const typed = ofJwt('ES256', 'at+jwt');
const without = { audience: [], claims: {} };
const byClaim = { issuer: claimed.issuer, audience: [], claims: { cid: 's', scope: 'read' } };

const refusedOnReload: readonly (readonly [Reason, string, Partial<Principal>, Partial<Route>, token?: string])[] = [
  ['token.issuer', 'an unknown server', { issuer: 'https://other.example' }, {}],
  ['token.issuer', 'a server that the route no longer trusts', {}, { authorizationServers: servers.slice(1) }],
  ['token.issuer', 'a token without the prefix that its server has now', { issuer: prefixed.issuer }, {}, 't'],
  ['token.issuer', 'a token with the prefix that another server has now', {}, {}, 'bank_t'],
  [
    'token.issuer',
    'a JWT of an issuer that its server no longer has',
    { ...typed, claims: { aud: ['s'], iss: 'https://old.example' } },
    {},
  ],
  [
    'token.issuer',
    'an answer that names an issuer that its server no longer has',
    { claims: { iss: 'https://x' } },
    {},
  ],
  ['token.form', 'opaque where only JWTs are accepted', {}, { tokens: new Set(['jwt'] as const) }],
  ['token.form', 'a JWT where none is accepted', typed, { tokens: new Set(['opaque'] as const) }],
  ['token.form', 'a JWT of a server without jwt', { ...typed, issuer: opaqueOnly.issuer }, {}],
  ['token.algorithm', 'an algorithm that is no longer accepted', ofJwt('RS256', 'at+jwt'), {}],
  ['token.type', 'a type that is no longer accepted', ofJwt('ES256', 'jwt'), {}],
  ['token.audience', 'no aud where it is required', without, {}],
  ['token.audience', 'no aud in a JWT', { ...typed, ...without }, {}],
  ['token.audience', 'the aud of another route', {}, { audiences: ['other'] }],
  ['token.audience', 'an empty aud', { issuer: lenient.issuer, audience: [], claims: { aud: [] } }, {}],
  ['token.audience', 'an opaque token for another resource by audience_claim', byClaim, { audiences: ['other'] }],
  [
    'token.audience',
    'an untyped JWT, of which its client is no audience',
    { ...ofJwt('ES256', 'jwt'), ...byClaim, claims: { cid: 's' } },
    { authorizationServers: [{ ...claimed, jwt: { ...jwt, types: ['jwt'] } }] as never },
  ],
  ['token.revoked', 'a subject whose rights ended', { subject: 'revoked' }, {}],
  ['token.too_old', 'a JWT that does not say when it was issued', { ...typed, issuedAt: undefined }, {}],
  ['token.too_old', 'a JWT from before what is remembered', { ...typed, issuedAt: Date.now() / 1000 - 86_401 }, {}],
  ['token.unbound', 'bound to nothing where it must be', {}, { proofs: { ...proofs, required: true } }],
  ['token.sender_constrained', 'bound to a key where DPoP is not served', { confirmation: byKey }, {}],
];

describe('a token that was validated before a reload', () => {
  test('gets the scopes of the newest hierarchy', () => {
    expect(accept({}).scopes).toEqual(new Set(['write', 'read']));
  });

  test.for<[string, Partial<Principal>, Partial<Route>, token?: string]>([
    ['with a JWT of a server that signs so', typed, {}],
    ['bound to nothing where DPoP is served', {}, { proofs }],
    ['bound to a key where DPoP is served', { confirmation: byKey }, { proofs }],
    ['bound to a key where it must be', { confirmation: byKey }, { proofs: { ...proofs, required: true } }],
    [
      'bound to a certificate where it must be',
      { confirmation: byCertificate },
      { proofs: { ...proofs, required: true } },
    ],
    ['bound to a certificate without DPoP', { confirmation: byCertificate }, {}],
    ['with a JWT that its server was asked about', {}, { tokens: new Set(['jwt'] as const) }, jwtText],
    ['without aud, of a server that may leave it out', { ...without, issuer: lenient.issuer }, {}],
    ['by audience_claim', byClaim, {}],
    ['with a JWT, by audience_claim', { ...typed, ...byClaim, claims: { cid: 's' } }, {}],
    ['with the prefix of its server', { issuer: prefixed.issuer }, {}, 'bank_t'],
    ['with a JWT that a server with a prefix was asked about', { issuer: prefixed.issuer }, {}, jwtText],
  ])('is accepted %s', ([, principal, route, token]) => {
    expect(() => accept(principal, route, token)).not.toThrow();
  });

  test.for(refusedOnReload)('is refused: %s, %s', ([reason, , principal, route, token]) => {
    expect(() => accept(principal, route, token)).toThrow(expect.objectContaining({ reason }) as Error);
  });

  test('is refused with what it says, and what the route accepts now', () => {
    const detailOf = (detail: string): Error => expect.objectContaining({ detail }) as Error;
    const old = { ...typed, claims: { aud: ['s'], iss: 'https://old.example' } };
    expect(() => accept(old)).toThrow(detailOf(`iss is "https://old.example"; accepted: "${jwtOnly.issuer}"`));
    const route = { authorizationServers: servers.slice(0, 1), audiences: ['other'] };
    const issuer = JSON.stringify(servers[0]?.issuer);
    const unknown = `iss is "https://other.example"; accepted: ${issuer}`;
    expect(() => accept({ issuer: 'https://other.example' }, route)).toThrow(detailOf(unknown));
    expect(() => accept({ claims: { aud: ['r', 's'] } }, route)).toThrow(
      detailOf('aud is "r", "s"; accepted: "other"'),
    );
  });

  test('is accepted where no revocations are kept', () => {
    expect(() => accept({ ...typed, issuedAt: 1, subject: 'revoked' }, {}, jwtText, null)).not.toThrow();
  });

  test('is refused for exactly the reasons that `refusals` checks on reload', () => {
    const checked = Object.entries(refusals).filter(([, row]) => 'onReload' in row && row.onReload === 'checked');
    expect(new Set(refusedOnReload.map(([reason]) => reason))).toEqual(new Set(checked.map(([reason]) => reason)));
  });
});

describe('the guard of revocations', () => {
  const guard = (isReady: boolean, revoked: object = {}) =>
    createRevocationGuard({ isReady: () => isReady, refusing: () => ({ at: 9, ...revoked }) }, 60_000, () => 1_000_000);
  const of = (form: Principal['form'], issuedAt?: number): Principal =>
    ({ form, issuedAt, subject: 'alice', clientId: 'app' }) as Principal;

  test.each<[isReady: boolean, issuedAt: number | undefined, reason: Reason, detail: string]>([
    [false, 5, 'shared_store.unavailable', 'the kept revocations are not known yet'],
    [true, 5, 'token.revoked', 'the token of "alice" was revoked: it was issued at 1970-01-01T00:00:05.000Z'],
    [true, -1e20, 'token.revoked', 'the token of "alice" was revoked: it was issued at -100000000000000000000'],
    [true, undefined, 'token.revoked', 'the token of "alice" was revoked: it has no iat'],
  ])('refuses while revocations are known %s, a token issued at %s: %s', (isReady, issuedAt, reason, detail) => {
    const refused = expect.objectContaining({ reason, detail }) as Error;
    expect(() => guard(isReady).requireNotRevoked(of('jwt', issuedAt))).toThrow(refused);
  });

  test.each([
    [{ clientId: 'app' }, 'the token of "app" was revoked: it has no iat'],
    [{}, 'the token was revoked: it has no iat'],
  ])('names the client of a token without a subject: %j', (principal, detail) => {
    const refused = expect.objectContaining({ detail }) as Error;
    expect(() => guard(true).requireNotRevoked(principal as Principal)).toThrow(refused);
  });

  test.each([
    [{ client: 'app' }, { subject: 'alice', clientId: 'app' }, 'of the client "app" (of "alice")'],
    [{ client: 'app', subject: 'alice' }, { subject: 'alice', clientId: 'app' }, 'of the client "app" (of "alice")'],
    [{ client: 'app' }, { clientId: 'app' }, 'of the client "app"'],
    [{ actor: 'bot' }, { subject: 'alice', clientId: 'app' }, 'with the actor "bot" (of "alice")'],
  ])('does not blame the person for the revocation of %j', (revoked, principal, of) => {
    const until = '1970-01-01T00:00:09.000Z are revoked: it was issued at 1970-01-01T00:00:05.000Z';
    const refused = expect.objectContaining({ detail: `tokens ${of} issued until ${until}` }) as Error;
    expect(() => guard(true, revoked).requireNotRevoked({ ...principal, issuedAt: 5 } as Principal)).toThrow(refused);
  });

  test('refuses a JWT from before what is remembered, and no opaque token', () => {
    const detail =
      'it was issued at 1970-01-01T00:15:40.000Z, and revocations are remembered for revocation.keep, 60 s';
    const refused = expect.objectContaining({ reason: 'token.too_old', detail }) as Error;
    expect(() => guard(true).requireRecent(of('jwt', 940))).toThrow(refused);
    expect(() => guard(true).requireRecent(of('jwt', 940.1))).not.toThrow();
    expect(() => guard(true).requireRecent(of('opaque', 1))).not.toThrow();
  });
});
