/** The front door as a client of a provider, where the provider answers as some real ones do. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createProviderClient, type SignInChecks } from '../../src/front-door/identity-provider.ts';
import { withCause } from '../../src/front-door/interactions.ts';
import type { IdentityProvider } from '../../src/ports/front-door.ts';
import { createKey, startIssuer } from '../support/issuer.ts';
import { startBeforeEach } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';

const issuer = startBeforeEach(startIssuer);
const clientId = 'front-door';
const clientSecret = 's-3_c~r.t!';
const redirectUri = 'http://127.0.0.1:1/callback/corporate';
let idToken: Record<string, unknown>;
let key: typeof issuer.key;
let answered: Record<string, unknown>;
/** The answer of its userinfo endpoint; undefined: it has none. */
let userInfo: object | undefined;

beforeEach(() => {
  idToken = {};
  answered = {};
  userInfo = undefined;
  key = issuer.key;
  const { url } = issuer;
  async function sendToken(response: ServerResponse): Promise<void> {
    const claims = { aud: clientId, nonce: 'n', sub: 'alice', ...idToken };
    const id_token = await issuer.sign(claims, { key, header: { typ: 'JWT' } });
    sendJson(response, 200, { access_token: 'a', token_type: 'Bearer', id_token, ...answered });
  }
  issuer.intercept = (request, response) => {
    if (request.url === '/.well-known/openid-configuration') {
      const endpoints = { authorization_endpoint: `${url}/auth`, token_endpoint: `${url}/token` };
      const more = userInfo ? { userinfo_endpoint: `${url}/userinfo` } : {};
      sendJson(response, 200, { issuer: url, jwks_uri: `${url}/jwks`, ...endpoints, ...more });
      return true;
    }
    if (request.url === '/userinfo' && userInfo !== undefined) {
      sendJson(response, 'error' in userInfo ? 500 : 200, userInfo);
      return true;
    }
    if (request.url !== '/token') return false;
    void sendToken(response);
    return true;
  };
});

const checks: SignInChecks = {
  state: 's',
  nonce: 'n',
  codeVerifier: 'v'.repeat(43),
  maxAgeSeconds: undefined,
  mustBeNew: false,
  beganAt: 0,
};

function createClient() {
  const { url } = issuer;
  const settings: IdentityProvider = {
    name: 'corporate',
    issuer: url,
    backchannel: url,
    credentials: { clientId, clientAuth: 'client_secret_basic', clientSecret },
    scopes: ['openid'],
    domains: [],
    claims: new Map([['role', 'role']]),
  };
  const client = createProviderClient(settings, redirectUri, Date.now);
  return { ...client, signIn: () => client.finish(new URL(`${redirectUri}?code=c&state=s`), checks) };
}

test('a secret is sent as a provider that does not form-decode it reads it', async () => {
  await createClient().signIn();
  const [, sent = ''] = issuer.requestsTo('/token')[0]?.authorization?.split(' ') ?? [];
  expect(Buffer.from(sent, 'base64').toString()).toBe(`${clientId}:${clientSecret}`);
});

describe('the log has what the provider says of a failure', () => {
  const refuse = (body: object) => issuer.answerAt('/token', (_, response) => sendJson(response, 400, body));
  const logged = (error: unknown) => withCause(error);

  test.for<[what: string, body: object, text: string]>([
    ['its error', { error: 'invalid_client' }, ': "invalid_client"'],
    ['its description', { error: 'x', error_description: 'AADSTS7000215: wrong' }, ': "x": "AADSTS7000215: wrong"'],
    [
      'without characters that a terminal obeys',
      { error: 'x', error_description: 'a\n\u001b[2J' },
      ': "x": "a\ufffd\ufffd[2J"',
    ],
    ['cut', { error: 'x', error_description: 'y'.repeat(5000) }, `: "${'y'.repeat(200)}…"`],
  ])('%s', async ([, body, text]) => {
    const { signIn } = createClient();
    await signIn();
    refuse(body);
    expect(await signIn().catch(logged)).toContain(text);
  });

  test('also in the address that a person brings back', async () => {
    const client = createClient();
    const answer = new URL(`${redirectUri}?error=access_denied&error_description=No+consent&state=s`);
    expect(await client.finish(answer, checks).catch(logged)).toContain(': "access_denied": "No consent"');
  });
});

describe('the name by which people know a person', () => {
  test.for<[what: string, idToken: object, answer: object, label: string | undefined]>([
    ['is in the ID token', { role: 'r', name: 'Alice' }, { sub: 'alice', name: 'Other' }, 'Alice'],
    ['is at the userinfo endpoint', { role: 'r' }, { sub: 'alice', name: 'Alice' }, 'Alice'],
    ['is asked for with the claims', {}, { sub: 'alice', name: 'Alice', role: 'r' }, 'Alice'],
    ['is absent where the endpoint fails', { role: 'r' }, { error: 'x' }, undefined],
    ['is absent where the answer is of another person', { role: 'r' }, { sub: 'bob', name: 'Bob' }, undefined],
  ])('%s', async ([, claims, answer, label]) => {
    idToken = { ...claims };
    userInfo = answer;
    expect(await createClient().signIn()).toMatchObject({ claims: { role: 'r' }, label });
  });

  test('a claim that only a failing userinfo endpoint has is no sign-in', async () => {
    userInfo = { error: 'x' };
    await expect(createClient().signIn()).rejects.toBeInstanceOf(Error);
  });
});

describe('null in an answer is absent', () => {
  const absent = ['scope', 'expires_in', 'refresh_token', 'refresh_expires_in'];

  test.for(absent)('%s of a token answer', async (name) => {
    answered = { [name]: null };
    expect(await createClient().signIn()).toMatchObject({ subject: 'alice' });
  });

  test.for(['azp', 'acr', 'sid', 'email', 'name', 'role'])('%s of an ID token', async (name) => {
    idToken = { [name]: null };
    expect(await createClient().signIn()).toMatchObject({ subject: 'alice', claims: {} });
  });

  test.for<[string, Record<string, unknown>]>([
    ['aud', { aud: null }],
    ['sub', { sub: null }],
    ['nonce', { nonce: null }],
    ['exp', { exp: null }],
    ['iss', { iss: null }],
  ])('but %s of an ID token, without which it could be for anybody, is refused', async ([, claims]) => {
    idToken = claims;
    await expect(createClient().signIn()).rejects.toBeInstanceOf(Error);
  });

  test('a token answer without a token is refused', async () => {
    answered = { id_token: null };
    await expect(createClient().signIn()).rejects.toBeInstanceOf(Error);
    answered = { access_token: null };
    await expect(createClient().signIn()).rejects.toBeInstanceOf(Error);
  });
});

describe('the keys of the provider', () => {
  const later = (ms: number) => void vi.setSystemTime(Date.now() + ms);
  const signedIn = expect.objectContaining({ subject: 'alice' }) as object;

  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  test.for([
    ['another kid', 'k2'],
    ['the same kid', 'k1'],
  ] as const)('may be exchanged at once, for %s: sign-ins go on after five seconds', async ([, kid]) => {
    const { signIn } = createClient();
    expect(await signIn()).toEqual(signedIn);
    const next = await createKey(kid);
    issuer.keys = [next.publicJwk];
    key = next;
    later(4_900);
    await expect(signIn()).rejects.toBeInstanceOf(Error);
    later(200);
    expect(await signIn()).toEqual(signedIn);
    expect(issuer.requestsTo('/jwks')).toHaveLength(2);
    key = issuer.key;
    later(5_100);
    await expect(signIn(), 'the old key no longer counts').rejects.toBeInstanceOf(Error);
  });

  test('are used although one member is none', async () => {
    issuer.keys = [null as never, 'k0' as never, ...issuer.keys];
    expect(await createClient().signIn()).toEqual(signedIn);
  });

  test('are not used where others than the provider can sign for them', async () => {
    issuer.keys = [{ ...issuer.key.publicJwk, e: 'AQ' }];
    await expect(createClient().signIn()).rejects.toThrow('no applicable key found in the JSON Web Key Set');
  });

  test('verify the ID token', async () => {
    key = await createKey('k1');
    await expect(createClient().signIn()).rejects.toThrow('signature verification failed');
  });
});
