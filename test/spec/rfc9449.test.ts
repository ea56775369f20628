import { beforeAll, describe, expect, test } from 'vitest';
import { createProver, type OtherProof, type Prover } from '../support/prover.ts';
import { publicUrl, startWorld, type Answer } from '../worlds/gateway.ts';
import { normalized } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** A route for each setting of DPoP. */
const world = startBeforeAll(() =>
  startWorld({
    top: 'session_key: a-key-that-is-longer-than-thirty-two',
    server: 'jwt: { algorithms: [RS256] }, introspection: { client_id: gateway, client_secret: secret, cache: 30s }',
    routes: [
      'name: tools, path: /mcp, protocol: mcp, policy: read, dpop: {}',
      'name: api, path: /api, policy: read, dpop: {}',
      'name: required, path: /required, resource: {}, dpop: { required: true }',
      'name: nonce, path: /nonce, dpop: { nonce: true }',
      'name: narrow, path: /narrow, dpop: { algorithms: [ES384], proof_lifetime: 1m }',
      'name: plain, path: /plain, resource: {}, policy: read',
    ].map((route) => `${route}, audience: a, upstream: { url: "UPSTREAM" }`),
    policies: { read: 'scope: read\n' },
    upstream: (_request, response) => {
      response.writeHead(200, { 'dpop-nonce': 'of the upstream', 'cache-control': 'max-age=60' }).end();
    },
  }),
);
let client: Prover;
/** A token that is bound to the key of the client. */
let token: string;
beforeAll(async () => {
  client = await createProver('ES256', world.clock);
  token = await bound({ exp: Math.floor(Date.now() / 1000) + 36_000 });
});

/** Signs a JWT for every route, bound to the client's key unless `claims` differ. */
async function bound(claims: Record<string, unknown> = {}): Promise<string> {
  return world.token({ scope: 'read', cnf: client.cnf, ...claims });
}

/** Sends a token with any text as the proof. */
async function show(path: string, token: string, proof?: string): Promise<Answer> {
  return world.send(path, { headers: { authorization: `DPoP ${token}`, ...(proof !== undefined && { dpop: proof }) } });
}

/** Sends a token with a proof. `by`: another key than the client's; the rest changes the proof. */
async function prove(
  path: string,
  token: string,
  { by = client, ...otherwise }: OtherProof & { readonly by?: Prover } = {},
): Promise<Answer> {
  const url = new URL(path, publicUrl);
  return show(path, token, await by.proof({ url: url.origin + url.pathname, token }, otherwise));
}

/** The reason of the newest decision. */
const reason = async (): Promise<unknown> => (await world.gateway.decision())['reason'];

const api = `${publicUrl}/api`;

test('R-63, RFC 9449 §7.1: serves a bound token with the proof of its key', async () => {
  const before = world.upstream.seen.length;
  expect((await prove('/api', token)).status).toBe(200);
  const { headers } = world.upstream.seen[before] ?? { headers: { dpop: 'it did not arrive' } };
  expect(headers).not.toHaveProperty('dpop');
  expect(headers).not.toHaveProperty('authorization');
});

describe('bound and unbound tokens', () => {
  // test/capabilities/possession/possession.test.ts and proof-check.test.ts have the tables of tokens and of proofs.
  test('R-65, RFC 9449 §6.1: binds a JWT by cnf.jkt', async () => {
    expect((await prove('/api', await bound({ cnf: (await createProver()).cnf }))).status).toBe(401);
    expect(await reason()).toBe('token.binding');
  });

  test('R-66, RFC 9449 §6.2: binds an opaque token by the cnf.jkt of its introspection', async () => {
    const { cnf } = client;
    const explained = { active: true, sub: 'alice', aud: 'a', scope: 'read', token_type: 'DPoP' };
    world.issuer.introspection.set('bound', { ...explained, cnf });
    world.issuer.introspection.set('other', { ...explained, cnf: (await createProver()).cnf });
    expect((await prove('/api', 'bound')).status).toBe(200);
    expect((await prove('/api', 'other')).status).toBe(401);
    expect(await reason()).toBe('token.binding');
  });

  test('R-67, RFC 9449 §7.2: refuses a bound token as Bearer, with a proof or without', async () => {
    const proof = await client.proof({ url: api, token });
    for (const headers of [{}, { dpop: proof }]) {
      const { status, challenge } = await world.send('/api', { token, headers });
      expect(status).toBe(401);
      expect(challenge).toMatch(/^Bearer error="invalid_token", DPoP algs="/);
      expect(await reason()).toBe('token.sender_constrained');
    }
  });

  test('R-67, RFC 9449 §7.2: serves an unbound token as Bearer, but not where the route requires a bound one', async () => {
    const unbound = await bound({ cnf: undefined });
    expect((await world.send('/api', { token: unbound })).status).toBe(200);
    const { status, challenge } = await world.send('/required', { token: unbound });
    expect(status).toBe(401);
    expect(challenge).toContain(', DPoP algs="');
    expect(await reason()).toBe('token.unbound');
    expect((await prove('/required', token)).status).toBe(200);
  });

  test('R-63, RFC 9449 §7.1: refuses the scheme and bound tokens where the route has no dpop', async () => {
    expect(await prove('/plain', token)).toMatchObject({ status: 401, challenge: 'Bearer' });
    expect(await reason()).toBe('credentials.missing');
    expect(await world.send('/plain', { token })).toMatchObject({ status: 401 });
    expect(await reason()).toBe('token.sender_constrained');
  });
});

describe('challenges', () => {
  const algs = 'algs="ES256 ES384 ES512 EdDSA Ed25519 PS256 PS384 PS512 RS256 RS384 RS512"';
  const metadata = `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource/mcp"`;
  const lines = async (path: string, ...fields: string[]): Promise<readonly string[]> => {
    const raw = normalized(await world.sendRaw(`GET ${path} HTTP/1.1`, 'Host: gateway.test', ...fields));
    return raw.split('\n').filter((line) => line.startsWith('www-authenticate: '));
  };

  test('R-68, RFC 9449 §7.1: challenges for each scheme on a line of its own, Bearer first', async () => {
    expect(await lines('/mcp')).toEqual([
      `www-authenticate: Bearer error="invalid_token", scope="read", ${metadata}`,
      `www-authenticate: DPoP scope="read", ${metadata}, ${algs}`,
    ]);
    expect(await lines('/api')).toEqual(['www-authenticate: Bearer', `www-authenticate: DPoP ${algs}`]);
    expect(await lines('/api', 'Authorization: Bearer x')).toEqual([
      'www-authenticate: Bearer error="invalid_token"',
      `www-authenticate: DPoP ${algs}`,
    ]);
    expect(await lines('/plain'), 'without dpop').toEqual(['www-authenticate: Bearer']);
  });

  // test/core/gateway/respond/challenge.test.ts has the table of errors.
  test('R-68, RFC 9449 §7.1: puts the error into the challenge of the scheme in use', async () => {
    expect(await lines('/mcp', `Authorization: DPoP ${token}`, 'DPoP: x')).toEqual([
      `www-authenticate: Bearer error="invalid_token", scope="read", ${metadata}`,
      `www-authenticate: DPoP error="invalid_dpop_proof", scope="read", ${metadata}, ${algs}`,
    ]);
  });
});

describe('nonces', () => {
  test('R-70, RFC 9449 §9: answers a proof without a nonce with one that then serves', async () => {
    const { status, challenge, headers } = await prove('/nonce', token);
    expect(status).toBe(401);
    expect(challenge).toMatch(/^DPoP error="use_dpop_nonce", algs="[^"]+", Bearer$/);
    const nonce = headers.get('dpop-nonce');
    expect(nonce).toMatch(/^[\w-]{22}$/);
    expect((await prove('/nonce', token, { claims: { nonce } })).status).toBe(200);
    expect((await prove('/nonce', token, { claims: { nonce } })).status, 'more than once').toBe(200);
    expect((await prove('/nonce', token, { claims: { nonce: `${nonce}x` } })).status).toBe(401);
    expect(await reason()).toBe('proof.nonce');
  });

  test('R-69, RFC 9449 §8.2: sends the current nonce with every answer, and lets an old one end after minutes', async () => {
    const nonce = (await world.send('/nonce')).headers.get('dpop-nonce');
    expect(nonce, 'a 401').not.toBeNull();
    expect((await prove('/nonce', token, { claims: { nonce } })).headers.get('dpop-nonce'), 'a 200').toBe(nonce);
    world.advance(120);
    const answer = await prove('/nonce', token, { claims: { nonce } });
    expect(answer.status).toBe(200);
    const next = answer.headers.get('dpop-nonce');
    expect(next).not.toBe(nonce);
    world.advance(120);
    expect((await prove('/nonce', token, { claims: { nonce } })).status).toBe(401);
    expect((await prove('/nonce', token, { claims: { nonce: next } })).status).toBe(200);
    world.advance(-240);
  });

  test('R-69, RFC 9449 §8.2: forbids caches to store an answer with a nonce', async () => {
    const { headers } = await world.send('/nonce');
    const answer = await prove('/nonce', token, { claims: { nonce: headers.get('dpop-nonce') } });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect((await prove('/api', token)).headers.get('cache-control')).toBe('private, max-age=60');
  });

  test('R-70, RFC 9449 §9: sends no nonce where the route wants none, not even the upstream’s', async () => {
    expect((await prove('/api', token)).headers.has('dpop-nonce')).toBe(false);
    expect((await show('/api', token)).headers.has('dpop-nonce')).toBe(false);
  });
});

test('R-70, RFC 9449 §9: lets a page send a proof and read the nonce', async () => {
  const origin = { origin: 'http://localhost:5173' };
  const asks = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization,dpop' };
  const preflight = await world.send('/nonce', { method: 'OPTIONS', headers: { ...origin, ...asks } });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-headers')).toMatch(/(?:^|, )DPoP(?:,|$)/);
  const { headers } = await world.send('/nonce', { headers: origin });
  expect(headers.get('access-control-expose-headers')).toMatch(/WWW-Authenticate.*DPoP-Nonce/);
});

test('R-11, RFC 9728 §2: names in the metadata the algorithms of proofs and whether a proof is required', async () => {
  const metadata = async (path: string): Promise<unknown> =>
    JSON.parse((await world.send(`/.well-known/oauth-protected-resource${path}`)).text);
  expect(await metadata('/mcp')).toMatchObject({
    dpop_signing_alg_values_supported: expect.arrayContaining(['ES256']),
  });
  expect(await metadata('/mcp')).not.toHaveProperty('dpop_bound_access_tokens_required');
  expect(await metadata('/required')).toMatchObject({ dpop_bound_access_tokens_required: true });
  expect(await metadata('/plain')).not.toHaveProperty('dpop_signing_alg_values_supported');
});

const now = (): number => Math.floor(Date.now() / 1000);

test('R-64, RFC 9449 §4.3: accepts a proof for this call, and refuses one for another method', async () => {
  expect((await prove('/api?a=b', token)).status, 'no query in htu').toBe(200);
  expect((await prove('/api', token, { claims: { htm: 'POST' } })).status).toBe(401);
  expect(await reason()).toBe('proof.invalid');
});

test('R-64, RFC 9449 §4.3: check 1: refuses more than one DPoP field', async () => {
  const [one, two] = [await client.proof({ url: api, token }), await client.proof({ url: api, token })];
  const raw = await world.sendRaw(
    'GET /api HTTP/1.1',
    'Host: gateway.test',
    `Authorization: DPoP ${token}`,
    `DPoP: ${one}`,
    `dpop: ${two}`,
  );
  expect(raw).toMatch(/^HTTP\/1\.1 401 /);
  expect(raw).toMatch(/^www-authenticate: DPoP error="invalid_dpop_proof"/im);
  expect(await reason()).toBe('proof.invalid');
  expect((await show('/api', token)).status, 'nor none').toBe(401);
  expect(await reason()).toBe('proof.missing');
});

test('R-64, RFC 9449 §4.3: checks 5 and 11: takes the algorithms and the window from the configuration', async () => {
  const by = await createProver('ES384');
  const other = await bound({ cnf: by.cnf });
  expect((await prove('/narrow', token)).status, 'where ES384 alone is accepted').toBe(401);
  expect((await prove('/narrow', other, { by, claims: { iat: now() - 30 } })).status).toBe(200);
  expect((await prove('/narrow', other, { by, claims: { iat: now() - 61 } })).status).toBe(401);
  expect((await prove('/narrow', other, { by, claims: { iat: now() + 120 } })).status).toBe(401);
});

test('R-71, RFC 9449 §11.1: accepts a jti once', async () => {
  const proof = await client.proof({ url: api, token });
  expect((await show('/api', token, proof)).status).toBe(200);
  const again = await show('/api', token, proof);
  expect(again.status).toBe(401);
  expect(again.challenge).toContain('DPoP error="invalid_dpop_proof"');
  expect(await reason()).toBe('proof.replayed');
  expect((await show('/api?x', token, proof)).status, 'whatever the query').toBe(401);
  expect((await prove('/api', token)).status, 'the next one').toBe(200);
});

test('R-71, RFC 9449 §11.1: serves one of two simultaneous uses', async () => {
  const proof = await client.proof({ url: api, token });
  const answers = await Promise.all(Array.from({ length: 8 }, () => show('/api', token, proof)));
  expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
});
