import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { createIntrospector } from '../../../src/pipeline/authenticate/introspection.ts';
import { KeySource } from '../../../src/pipeline/authenticate/keys.ts';
import { createServerClient } from '../../../src/authorization-server/client.ts';
import type { Introspection, JwtValidation } from '../../../src/model/authorization-server.ts';
import type { Principal } from '../../../src/model/principal.ts';
import { createKey, startIssuer } from '../../support/issuer.ts';
import { serverOf } from '../../support/server.ts';
import { answerIntrospection, phantom, statement, type RawAnswer } from '../../support/signed-answers.ts';
import { startBeforeAll } from '../../support/start-before.ts';

// Made once, however often the tests are run: RSA keys take long.
const [key, stranger] = await Promise.all([createKey('k1'), createKey('k1')]);

const issuer = startBeforeAll(() => startIssuer(0, key));
beforeEach(() => {
  issuer.intercept = undefined;
});

const seconds = (): number => Math.floor(Date.now() / 1000);
const active = (otherwise: object = {}): object => ({
  active: true,
  sub: 'bob',
  aud: 'r',
  scope: 'read',
  ...otherwise,
});
const unavailable = { reason: 'authorization_server.unavailable' };

async function introspect(
  answer: RawAnswer | Promise<RawAnswer>,
  { jwt, ...otherwise }: Partial<Introspection> & { readonly jwt?: Partial<JwtValidation> } = {},
): Promise<Principal | undefined> {
  answerIntrospection(issuer, () => answer);
  const base = serverOf(issuer);
  const server = serverOf(issuer, {
    ...(jwt !== undefined && { jwt: { algorithms: ['RS256'], types: undefined, jwksUri: undefined, ...jwt } }),
    introspection: {
      ...base.introspection,
      response: { kind: 'jwt', algorithms: ['RS256'] },
      ...otherwise,
    } as Introspection,
  });
  const client = createServerClient(server, () => {}, Date.now);
  try {
    const introspector = createIntrospector(client, new KeySource(client, Date.now), new Map(), Date.now);
    return (await introspector.afresh('opaque'))?.principal;
  } finally {
    client.close();
  }
}

/** A compact JWS with any header, and whatever as signature. */
function forged(header: object, payload: object, sign: (input: string) => string): RawAnswer {
  const input = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return { type: 'application/token-introspection+jwt', text: `${input}.${sign(input)}` };
}

// signed-answer-reader.test.ts has the table of answers.
describe('a signed answer of RFC 9701', () => {
  test('gives a principal with its claims and its JWT', async () => {
    const answer = await statement(issuer, active({ exp: seconds() + 60, client_id: 'app' }));
    await expect(introspect(answer)).resolves.toMatchObject({
      subject: 'bob',
      clientId: 'app',
      audience: ['r'],
      scopes: new Set(['read']),
      form: 'opaque',
      introspectionJwt: answer.text,
    });
  });

  test('drops a line break after the JWT', async () => {
    const { text, ...answer } = await statement(issuer, active());
    await expect(introspect({ ...answer, text: `${text}\r\n` })).resolves.toMatchObject({ introspectionJwt: text });
  });

  test('may have several audiences, the gateway among them', async () => {
    await expect(introspect(statement(issuer, active(), { outer: { aud: ['x', 'gateway'] } }))).resolves.toBeDefined();
  });

  test.each([[false], ['true'], [1], [undefined]])('active: %j is not active', async (value) => {
    await expect(introspect(statement(issuer, active({ active: value })))).resolves.toBeUndefined();
  });

  test.each<[string, () => Promise<RawAnswer> | RawAnswer]>([
    ['a signature by an unknown key', () => statement(issuer, active(), { key: stranger })],
    ['the typ of an access token', () => statement(issuer, active(), { header: { typ: 'at+jwt' } })],
    ['no typ', () => statement(issuer, active(), { header: { typ: undefined } })],
    ['more than the longest body', () => statement(issuer, active({ more: 'x'.repeat(600_000) }))],
  ])('counts as an outage with %s', async (_title, answer) => {
    await expect(introspect(answer())).rejects.toMatchObject(unavailable);
  });

  const header = { kid: 'k1', typ: 'token-introspection+jwt' };
  const payload = (): object => ({
    iss: issuer.url,
    aud: 'gateway',
    iat: seconds(),
    token_introspection: active(),
  });

  test('counts as an outage without a signature', async () => {
    const answer = forged({ ...header, alg: 'none' }, payload(), () => '');
    await expect(introspect(answer)).rejects.toMatchObject(unavailable);
    const withSignature = forged({ ...header, alg: 'none' }, payload(), () => 'AA');
    await expect(introspect(withSignature)).rejects.toMatchObject(unavailable);
  });

  test('counts as an outage with the public key as an HMAC secret', async () => {
    const secret = Buffer.from(issuer.key.publicJwk.n ?? '', 'base64url');
    const sign = (input: string): string => createHmac('sha256', secret).update(input).digest('base64url');
    await expect(introspect(forged({ ...header, alg: 'HS256' }, payload(), sign))).rejects.toMatchObject(unavailable);
  });

  test('counts as an outage with an algorithm that is not configured', async () => {
    const answer = statement(issuer, active());
    const response = { kind: 'jwt', algorithms: ['ES256'] } as const;
    await expect(introspect(answer, { response })).rejects.toMatchObject(unavailable);
  });

  test.each([['token.expired', { exp: 1 }]])('says of the token what JSON would: %s', async (reason, change) => {
    await expect(introspect(statement(issuer, active(change)))).rejects.toMatchObject({ reason });
  });

  test('names the failed check to the operator, and no value of the JWT', async () => {
    const answer = await statement(issuer, active(), { outer: { aud: 'other' } });
    const { detail } = (await introspect(answer).catch((error: unknown) => error)) as { detail: string };
    expect(detail).toBe('main: the signed answer is not valid: unexpected "aud" claim value');
  });
});

describe('a phantom token', () => {
  test('gives a principal with its claims and its JWT', async () => {
    const answer = await phantom(issuer, { sub: 'bob', aud: ['r'], scope: 'read' });
    await expect(introspect(answer)).resolves.toMatchObject({
      subject: 'bob',
      audience: ['r'],
      form: 'opaque',
      introspectionJwt: answer.text,
    });
  });

  test('has a typ that is configured for the JWTs of its server', async () => {
    const answer = await phantom(issuer, { aud: 'r' }, { header: { typ: undefined } });
    await expect(introspect(answer)).resolves.toBeDefined();
    await expect(introspect(answer, { jwt: { types: ['at+jwt'] } })).rejects.toMatchObject(unavailable);
  });

  test('must have an audience unless audiences are optional', async () => {
    await expect(introspect(phantom(issuer, {}))).rejects.toMatchObject({ reason: 'token.audience' });
    await expect(introspect(phantom(issuer, {}), { audience: 'optional' })).resolves.toMatchObject({ audience: [] });
  });

  test.each<[string, () => Promise<RawAnswer> | RawAnswer]>([
    ['a signature by an unknown key', () => phantom(issuer, { aud: 'r' }, { key: stranger })],
    ['the claims of an ID token', () => phantom(issuer, { aud: 'r', nonce: 'n' }, { header: { typ: 'JWT' } })],
    ['the claims of a logout token', () => phantom(issuer, { aud: 'r', events: {} }, { header: { typ: undefined } })],
    ['the typ of a logout token', () => phantom(issuer, { aud: 'r' }, { header: { typ: 'logout+jwt' } })],
    ['the payload typ of an ID token by Keycloak', () => phantom(issuer, { aud: 'r', typ: 'ID' })],
    [
      'the typ of a signed answer of RFC 9701',
      async () => ({
        ...(await statement(issuer, active(), { outer: { exp: seconds() + 60 } })),
        type: 'application/jwt',
      }),
    ],
    ['no exp', () => phantom(issuer, { aud: 'r', exp: undefined })],
    ['a text that is not base64url JSON', () => ({ type: 'application/jwt', text: 'not.a.jwt' })],
    ['two lines', () => ({ type: 'application/jwt', text: 'a.b.c\r\nx: y' })],
  ])('counts as an outage with %s', async (_title, answer) => {
    await expect(introspect(answer())).rejects.toMatchObject(unavailable);
  });

  test('counts as an outage without a signature', async () => {
    const payload = { iss: issuer.url, aud: 'r', exp: seconds() + 60 };
    const answer = forged({ alg: 'none', typ: 'at+jwt' }, payload, () => '');
    await expect(introspect({ ...answer, type: 'application/jwt' })).rejects.toMatchObject(unavailable);
  });
});

describe('an answer that is not signed', () => {
  test.each<[string, RawAnswer]>([
    ['inactive in JSON', { text: '{"active":false}' }],
    ['inactive in JSON without a media type', { type: '', text: '{"active":false}' }],
    ['empty', { status: 204, text: '' }],
  ])('means that the token is not active: %s', async (_title, answer) => {
    await expect(introspect(answer)).resolves.toBeUndefined();
  });

  test.each<[string, RawAnswer]>([
    ['active', { text: JSON.stringify(active()) }],
    ['an empty body', { text: '' }],
    ['a text that is not JSON', { text: 'active' }],
    ['a 406', { status: 406, text: '{"active":false}' }],
    ['a 400', { status: 400, text: '{"active":false}' }],
  ])('counts as an outage: %s', async (_title, answer) => {
    await expect(introspect(answer)).rejects.toMatchObject(unavailable);
  });

  test('counts as an outage if it is a 204 and JSON is configured', async () => {
    const answer = { status: 204, text: '' };
    await expect(introspect(answer, { response: { kind: 'json' } })).rejects.toMatchObject(unavailable);
  });
});

test('the gateway accepts JSON, or only the two signed types', async () => {
  const asked = answerIntrospection(issuer, () => ({ status: 204, text: '' }));
  const base = serverOf(issuer);
  for (const response of [{ kind: 'json' }, { kind: 'jwt', algorithms: ['RS256'] }] as const) {
    const introspection = { ...base.introspection, response } as Introspection;
    const client = createServerClient(serverOf(issuer, { introspection }), () => {}, Date.now);
    const keys = new KeySource(client, Date.now);
    await createIntrospector(client, keys, new Map(), Date.now)
      .afresh('opaque')
      .catch(() => {});
    client.close();
  }
  expect(asked.map(({ accept }) => accept)).toEqual([
    'application/json',
    'application/token-introspection+jwt, application/jwt;q=0.9',
  ]);
});

test('a signed answer counts as an outage while the keys are unavailable', async () => {
  const answer = await statement(issuer, active());
  const jwt = { jwksUri: `${issuer.url}/nothing` };
  await expect(introspect(answer, { jwt })).rejects.toMatchObject(unavailable);
});
