import { createHmac } from 'node:crypto';
import { createLocalJWKSet, type JWTVerifyGetKey, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { createKey } from '../support/issuer.ts';
import { createSignedAnswerReader, type IntrospectionAnswer } from '../../src/tokens/introspection-answer.ts';
import type { AuthorizationServer, JwtValidation } from '../../src/core/model/authorization-server.ts';
import { Denial } from '../../src/core/model/denial.ts';
import { fixedKeys } from '../worlds/keys.ts';

const issuer = 'https://as.example';
const now = 1_800_000_000;
const [key, stranger] = await Promise.all([createKey('k1', 'ES256'), createKey('k1', 'ES256')]);
const published = createLocalJWKSet({ keys: [key.publicJwk] });

const statementType = 'application/token-introspection+jwt';
const phantomType = 'application/jwt';
const [statementTyp, phantomTyp] = ['token-introspection+jwt', 'at+jwt'];

async function read(
  mediaType: string,
  text: string,
  {
    jwt,
    keys = published,
    algorithms = ['ES256'],
  }: { readonly jwt?: JwtValidation; readonly keys?: JWTVerifyGetKey; readonly algorithms?: readonly string[] } = {},
): Promise<IntrospectionAnswer | undefined> {
  const server = { name: 'main', issuer, jwt, clockToleranceMs: 5_000 } as AuthorizationServer;
  return createSignedAnswerReader(
    server,
    'gateway',
    algorithms,
    fixedKeys(keys),
    () => now * 1000,
  )({
    status: 200,
    mediaType,
    text,
    body: ['application/json', ''].includes(mediaType) ? (JSON.parse(text) as unknown) : undefined,
  });
}

function sign(typ: string | undefined, claims: object, by = key): Promise<string> {
  return new SignJWT({ iss: issuer, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1', ...(typ !== undefined && { typ }) })
    .sign(by.privateKey);
}

/** A JWS in compact form with any header and signature. */
function forged(header: object, claims: object, signature: (input: string) => string): string {
  const parts = [
    { kid: 'k1', ...header },
    { iss: issuer, ...claims },
  ];
  const input = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${input}.${signature(input)}`;
}

const statement = (about: unknown, outer: object = {}): Promise<string> =>
  sign(statementTyp, { aud: 'gateway', iat: now, token_introspection: about, ...outer });
const phantom = (claims: object = {}, typ: string | undefined = phantomTyp): Promise<string> =>
  sign(typ, { exp: now + 60, ...claims });

const unavailable = 'authorization_server.unavailable';
const asked = { aud: 'gateway', iat: now, token_introspection: { active: true } };
const hmac = (input: string): string =>
  createHmac('sha256', Buffer.from(key.publicJwk.x ?? '', 'base64url'))
    .update(input)
    .digest('base64url');

test.for<[string, mediaType: string, () => Promise<string> | string]>([
  ['by another key under its kid', statementType, () => sign(statementTyp, asked, stranger)],
  ['with the typ of an access token', statementType, () => sign('at+jwt', asked)],
  [
    'with the typ of an access token, and null for one in its payload',
    statementType,
    () => sign('at+jwt', { ...asked, typ: null }),
  ],
  ['without a typ', statementType, () => sign(undefined, asked)],
  ['without a signature', statementType, () => forged({ alg: 'none', typ: statementTyp }, asked, () => '')],
  ['by alg none, signed', statementType, () => forged({ alg: 'none', typ: statementTyp }, asked, () => 'AA')],
  ['by its public key as a secret', statementType, () => forged({ alg: 'HS256', typ: statementTyp }, asked, hmac)],
  ['by another key under its kid', phantomType, () => sign(phantomTyp, { exp: now + 60 }, stranger)],
  ['that is an ID token', phantomType, () => phantom({ aud: 'r', nonce: 'n' }, 'JWT')],
  ['that is a logout token', phantomType, () => sign(undefined, { exp: now + 60, events: {} })],
  ['with the typ of a logout token', phantomType, () => phantom({}, 'logout+jwt')],
  ['that is an ID token of Keycloak', phantomType, () => phantom({ typ: 'ID' })],
  ['that is a signed answer of RFC 9701', phantomType, () => statement({ active: true }, { exp: now + 60 })],
  ['without exp', phantomType, () => phantom({ exp: undefined })],
  ['without a signature', phantomType, () => forged({ alg: 'none', typ: phantomTyp }, { exp: now + 60 }, () => '')],
  ['of three words', phantomType, () => 'not.a.jwt'],
  ['of two lines', phantomType, () => 'a.b.c\r\nx: y'],
])('a JWT %s is an outage as %s', async ([, mediaType, jwt]) => {
  await expect(read(mediaType, await jwt())).rejects.toMatchObject({ reason: unavailable });
});

test('a JWT of an algorithm that is not configured is an outage', async () => {
  const jwt = await statement({ active: true });
  await expect(read(statementType, jwt, { algorithms: ['RS256'] })).rejects.toMatchObject({ reason: unavailable });
});

describe('RFC 9701 §5 — a signed answer', () => {
  test('is read from a server without jwt', async () => {
    const jwt = await statement({ active: true, sub: 'bob' });
    await expect(read(statementType, jwt)).resolves.toEqual({ claims: { active: true, sub: 'bob' }, jwt });
    const several = await statement({ active: true }, { aud: ['x', 'gateway'] });
    await expect(read(statementType, several)).resolves.toBeDefined();
    for (const active of [false, 'true', 1, undefined]) {
      await expect(read(statementType, await statement({ active }))).resolves.toBeUndefined();
    }
  });

  test.for([null, [], [{ active: true }], 'active', true, undefined])(
    'is refused with token_introspection: %j',
    async (about) => {
      await expect(read(statementType, await statement(about))).rejects.toMatchObject({
        reason: unavailable,
        detail: 'main: the signed answer has no token_introspection',
      });
    },
  );

  test.for<[string, object]>([
    ['with the audience of another resource server', { aud: 'other' }],
    ['without an audience', { aud: undefined }],
    ['with an empty audience', { aud: '' }],
    ['of another issuer', { iss: 'https://x.example' }],
    ['issued more than a minute and the tolerance ago', { iat: now - 66 }],
    ['issued in the future', { iat: now + 6 }],
    ['that has expired', { exp: now - 5 }],
  ])('is refused %s', async ([, outer]) => {
    await expect(read(statementType, await statement({ active: true }, outer))).rejects.toMatchObject({
      reason: unavailable,
      // The failed check, and no value of the JWT.
      detail: expect.stringMatching(/^main: the signed answer is not valid: .*(?:claim|timestamp)/) as string,
      cause: expect.any(Error) as unknown,
    });
  });

  test.for([{ iat: now - 65 }, { iat: now + 5 }, { exp: now - 4 }])(
    'is accepted at the limit of the tolerance: %j',
    async (outer) => {
      await expect(read(statementType, await statement({ active: true }, outer))).resolves.toBeDefined();
    },
  );
});

describe('a phantom token', () => {
  test('is read from a server without jwt', async () => {
    const jwt = await phantom({ sub: 'bob' });
    await expect(read(phantomType, jwt)).resolves.toMatchObject({ claims: { sub: 'bob' }, jwt });
  });

  test('has a typ that is configured for the JWTs of its server', async () => {
    const plain = await phantom({}, 'JWT');
    await expect(read(phantomType, plain)).resolves.toBeDefined();
    const jwt = { algorithms: ['RS256'], types: ['at+jwt'], jwksUri: undefined };
    await expect(read(phantomType, await phantom(), { jwt }), 'by its own algorithms').resolves.toBeDefined();
    await expect(read(phantomType, plain, { jwt })).rejects.toMatchObject({ reason: unavailable });
  });

  test('refuses the token if it has expired, is not yet valid or is bound; any other fault is an outage', async () => {
    await expect(read(phantomType, await phantom({ exp: now - 5 }))).rejects.toMatchObject({ reason: 'token.expired' });
    await expect(read(phantomType, await phantom({ nbf: now + 6 }))).rejects.toMatchObject({
      reason: 'token.not_yet_valid',
    });
    await expect(read(phantomType, await phantom({ cnf: {} }))).rejects.toMatchObject({
      reason: 'token.sender_constrained',
    });
    const keys = createLocalJWKSet({ keys: [{ ...key.publicJwk, kid: 'k2' }] });
    await expect(read(phantomType, await phantom(), { keys })).rejects.toMatchObject({
      reason: unavailable,
      cause: expect.objectContaining({ reason: 'token.key' }) as unknown,
    });
    await expect(read(phantomType, await phantom({ iss: 'x' }))).rejects.toMatchObject({
      reason: unavailable,
      detail: expect.stringMatching(
        /^main: the phantom token is not valid: iss is "[^"]+"; accepted: "[^"]+"$/,
      ) as string,
      cause: expect.objectContaining({ reason: 'token.issuer' }) as unknown,
    });
  });
});

describe('the JWT, which goes into a header of the upstream', () => {
  test.for([statementType, phantomType])('has at most 32 KiB: %s', async (mediaType) => {
    const detail = 'main: the signed answer has more than 32768 characters';
    await expect(read(mediaType, `a.b.${'c'.repeat(32_765)}`)).rejects.toMatchObject({ reason: unavailable, detail });
    await expect(read(mediaType, `a.b.${'c'.repeat(32_764)}\r\n`)).rejects.not.toMatchObject({ detail });
  });

  test('RFC 7515 §7.1 — must be in compact form, without characters that lenient decoders skip', async () => {
    const good = await statement({ active: true });
    const [head, signature] = [good.slice(0, -86), good.slice(-86)];
    await expect(read(statementType, ` ${good}\r\n`)).resolves.toMatchObject({ jwt: good });
    for (const other of [
      `${good}=`,
      `${head}${signature.slice(0, 40)}\r\n${signature.slice(40)}`,
      `${head} ${signature}`,
      `${head}${signature.replaceAll('-', '+').replaceAll('_', '/')}=`,
      `${good}.${signature}`,
      '<html>',
      '',
    ]) {
      await expect(read(statementType, other)).rejects.toMatchObject({
        reason: unavailable,
        detail: 'main: the signed answer is not a JWS in compact form',
      });
    }
  });
});

describe('an answer without a signature', () => {
  test('may say that the token is not active', async () => {
    for (const type of ['application/json', '']) {
      await expect(read(type, '{"active":false}')).resolves.toBeUndefined();
    }
  });

  test.for(['{"active":true}', '{"active":"false"}', '{"active":0}', '{}', 'null', '[]', '"x"', '5'])(
    'is refused if it says anything else: %s',
    async (text) => {
      await expect(read('application/json', text)).rejects.toMatchObject({
        reason: unavailable,
        detail: 'main: the answer is not signed, although introspection.response is jwt',
      });
    },
  );
});

test('an answer that is neither signed nor JSON is refused', async () => {
  await expect(read('text/html', '<html>')).rejects.toMatchObject({ reason: unavailable });
});

test('the error of unavailable keys is passed on', async () => {
  const away = new Denial('authorization_server.unavailable', 'main: its keys are away');
  const keys = () => Promise.reject(away);
  await expect(read(statementType, await statement({ active: true }), { keys })).rejects.toBe(away);
  await expect(read(phantomType, await phantom(), { keys })).rejects.toBe(away);
});

test('a signature by an unpublished key is an outage', async () => {
  const unknown = new Denial('token.key', 'no published key for its kid and alg');
  const keys = () => Promise.reject(unknown);
  await expect(read(statementType, await statement({ active: true }), { keys })).rejects.toMatchObject({
    reason: unavailable,
    detail: 'main: the signed answer is not valid: no published key for its kid and alg',
  });
});
