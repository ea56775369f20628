import { beforeEach, describe, expect, test } from 'vitest';
import { createIntrospector } from '../../../src/pipeline/authenticate/introspection.ts';
import { KeySource } from '../../../src/pipeline/authenticate/keys.ts';
import { createServerClient } from '../../../src/authorization-server/client.ts';
import type { Introspection } from '../../../src/model/authorization-server.ts';
import type { Principal } from '../../../src/model/principal.ts';
import { createKey, startIssuer } from '../../support/issuer.ts';
import { serverOf } from '../../support/server.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const key = await createKey('k1', 'ES256');

const issuer = startBeforeAll(() => startIssuer(0, key));
beforeEach(() => {
  issuer.intercept = undefined;
});

const seconds = (): number => Math.floor(Date.now() / 1000);

async function introspect(answer: unknown, otherwise: Partial<Introspection> = {}): Promise<Principal | undefined> {
  issuer.introspection.set('opaque', answer);
  const base = serverOf(issuer);
  const server = { ...base, introspection: { ...base.introspection, ...otherwise } as Introspection };
  const client = createServerClient(server, () => {}, Date.now);
  try {
    const keys = new KeySource(client, Date.now);
    const introspector = createIntrospector(client, keys, new Map([['write', ['read']]]), Date.now);
    return (await introspector.afresh('opaque'))?.principal;
  } finally {
    client.close();
  }
}

describe('RFC 7662 §2.2 — an answer', () => {
  test('active: its members as a principal, scopes with what they imply', async () => {
    const answer = { active: true, sub: 'bob', aud: 'r', scope: 'write', client_id: 'app', exp: seconds() + 60 };
    await expect(introspect(answer)).resolves.toMatchObject({
      subject: 'bob',
      clientId: 'app',
      audience: ['r'],
      scopes: new Set(['write', 'read']),
      form: 'opaque',
    });
  });

  test.each([{ active: false }, { active: 'true', aud: 'r' }, { active: 1, aud: 'r' }, { aud: 'r' }, {}])(
    'not active: %j',
    async (answer) => {
      await expect(introspect(answer)).resolves.toBeUndefined();
    },
  );

  test.each([
    ['token.issuer', { iss: 'http://other' }],
    ['token.expired', { exp: 1 }],
    ['token.claims', { exp: '9999999999' }],
    ['token.not_yet_valid', { nbf: 9_999_999_999 }],
    ['token.claims', { nbf: 'soon' }],
    ['token.audience', { aud: undefined }],
    ['token.audience', { aud: { r: 1 } }],
    ['token.sender_constrained', { cnf: { jkt: 'x' } }],
    ['token.sender_constrained', { token_type: 'DPoP' }],
    ['token.type', { token_type: 'refresh_token' }],
    ['token.type', { token_use: 'refresh_token' }],
    ['token.type', { typ: 'Refresh' }],
  ])('%s: %j', async (reason, change) => {
    await expect(introspect({ active: true, aud: 'r', ...change })).rejects.toMatchObject({ reason });
  });

  test('without aud, where the configuration allows it', async () => {
    await expect(introspect({ active: true }, { audience: 'optional' })).resolves.toMatchObject({ audience: [] });
  });
});

describe('RFC 7662 §2.1, RFC 6749 §2.3.1 — the request', () => {
  test('client_secret_basic: form-encoded, then Basic; the secret not in the body', async () => {
    await introspect(
      { active: false },
      {
        credentials: { clientId: 'a b', clientSecret: 'p:%&', clientAuth: 'client_secret_basic' },
      },
    );
    const { authorization, body } = issuer.requests.at(-1) ?? {};
    expect(Buffer.from(authorization?.slice('Basic '.length) ?? '', 'base64').toString()).toBe('a+b:p%3A%25%26');
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual({ token: 'opaque', token_type_hint: 'access_token' });
  });

  test('client_secret_post: in the body alone', async () => {
    await introspect(
      { active: false },
      {
        credentials: { clientId: 'gateway', clientAuth: 'client_secret_post', clientSecret: 'p:%&' },
      },
    );
    const { authorization, body } = issuer.requests.at(-1) ?? {};
    expect(authorization).toBeUndefined();
    expect(new URLSearchParams(body).get('client_secret')).toBe('p:%&');
  });
});

test.each([
  ['our credentials refused', 401, '{}'],
  ['an error', 400, '{}'],
  ['too many requests', 429, '{}'],
  ['a server error', 500, '{}'],
  ['a redirect', 302, ''],
  ['no JSON', 200, 'active'],
  ['a JSON list', 200, 'null'],
])('no answer: %s', async (_, status, text) => {
  issuer.intercept = (request, response) => {
    if (request.url !== '/introspect') return false;
    response.writeHead(status, { location: '/elsewhere' }).end(text);
    return true;
  };
  await expect(introspect({ active: true, aud: 'r' })).rejects.toMatchObject({
    reason: 'authorization_server.unavailable',
  });
});
