import { decodeJwt } from 'jose';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import type { Reason } from '../../src/core/model/reasons.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { get, handshake } from './requests.ts';
import { AUDIENCE, startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { lastHead } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';

const explains = 'client_id: gateway, client_secret: s3cr3t, cache: 0s';
const route = (name: string, servers: string, more = ''): string =>
  `name: ${name}, path: /${name}, audience: "${AUDIENCE}", authorization_servers: [${servers}]${more}`;
const identity =
  'identity: { x-auth-subject: sub, x-auth-issuer: iss, signed: { header: x-auth-identity, audience: them, claims: [/iss] } }';

const partner = startBeforeAll(startIssuer);
const plain = startBeforeAll(startIssuer);
const world = startBeforeAll(() =>
  startAttackWorld({
    yaml: 'limits: { failures: off }',
    server: `introspection: { ${explains}, prefix: bank_ }`,
    servers: `partner: { issuer: "${partner.url}", introspection: { ${explains}, prefix: partner_, response: jwt, algorithms: [RS256] } },
      plain: { issuer: "${plain.url}", introspection: { ${explains} } }`,
    routes: [
      `${route('both', 'main, partner', `, policy: both, upgrade: websocket`)}, upstream: { url: "UPSTREAM/both", ${identity} }`,
      `${route('bank', 'main')}, upstream: { url: "UPSTREAM/bank", ${identity} }`,
      `${route('only-bank', 'main, partner', ', policy: bank')}, upstream: { url: "UPSTREAM/only-bank" }`,
      `${route('phantom', 'partner', ', tokens: [opaque]')}, upstream: { url: "UPSTREAM/phantom", token: phantom }`,
      `${route('bound', 'main, partner', ', dpop: {}')}, upstream: { url: "UPSTREAM/bound" }`,
      `${route('plain', 'plain')}, upstream: { url: "UPSTREAM/plain", ${identity} }`,
      `${route('mixed', 'partner, plain', ', opaque_tokens: shown_to_all')}, upstream: { url: "UPSTREAM/mixed" }`,
    ],
    policies: { both: '{}', bank: 'claims: { iss: { matches: "^http://127" } }' },
    answer: (_request, response) => void response.end(UPSTREAM_TEXT),
  }),
);
beforeEach(() => {
  for (const { requests } of [world.issuer, partner, plain]) requests.length = 0;
});
startBeforeAll(() => new WebSocketServer({ server: world.upstream.server }));
beforeAll(() => {
  const about = { active: true, sub: 'alice', aud: AUDIENCE, scope: 'read' };
  for (const token of ['bank_1', 'unclaimed']) world.issuer.introspection.set(token, about);
  for (const token of ['unclaimed', 'bank_1']) plain.introspection.set(token, about);
  partner.intercept = (request, response, body) => {
    if (request.url !== '/introspect' || new URLSearchParams(body).get('token') !== 'partner_1') return false;
    const exp = Math.floor(Date.now() / 1000) + 60;
    void partner
      .sign({ token_introspection: { ...about, exp }, aud: 'gateway' }, { header: { typ: 'token-introspection+jwt' } })
      .then((jwt) => response.writeHead(200, { 'content-type': 'application/token-introspection+jwt' }).end(jwt));
    return true;
  };
});

/** Every token that a server was shown. */
const shownTo = (issuer: Issuer): readonly (string | null)[] =>
  issuer.requests
    .filter(({ path }) => path === '/introspect')
    .map(({ body }) => new URLSearchParams(body).get('token'));
const expectPass = async (path: string, token: string) =>
  (await world.forwards(get(path, token), `GET ${path}`)).reached[0]?.headers ?? {};
const expectRefused = (attack: string, reason: Reason = 'token.issuer') => world.refuses(attack, 401, reason);

describe('an authorization server receives only its own opaque tokens', () => {
  test('sends no token of the bank to the partner, and none of the partner to the bank', async () => {
    await expectPass('/both', 'bank_1');
    await expectPass('/both', 'partner_1');
    expect([shownTo(world.issuer), shownTo(partner)]).toEqual([['bank_1'], ['partner_1']]);
  });

  test('refuses a token of the partner with the prefix of the bank', async () => {
    partner.introspection.set('bank_2', { active: true, sub: 'alice', aud: AUDIENCE });
    await expectRefused(get('/both', 'bank_2'), 'token.inactive');
    expect(shownTo(partner)).toEqual([]);
  });

  test.each(['/both', '/bank'])('refuses a token that no server of %s claims, without asking one', async (path) => {
    await expectRefused(get(path, 'unclaimed'));
    await expectRefused(get(path, 'BANK_1'));
    await expectRefused(get(path, 'bank'));
    expect([shownTo(world.issuer), shownTo(partner)]).toEqual([[], []]);
  });

  test('refuses a token of a server that the route does not trust, without asking it', async () => {
    await expectRefused(get('/plain', 'bank_1'));
    await expectRefused(get('/bank', 'partner_1'));
    await expectRefused(get('/mixed', 'bank_1'));
    expect([shownTo(world.issuer), shownTo(partner), shownTo(plain)]).toEqual([[], [], []]);
  });

  test('sends a token with a prefix only to its server, even if others go to all servers', async () => {
    await expectPass('/mixed', 'partner_1');
    await expectPass('/mixed', 'unclaimed');
    expect([shownTo(partner), shownTo(plain)]).toEqual([['partner_1'], ['unclaimed']]);
  });

  test('holds for signed answers, proofs of possession and WebSockets', async () => {
    const { authorization = '' } = await expectPass('/phantom', 'partner_1');
    expect(decodeJwt(authorization.slice('Bearer '.length))).toMatchObject({ iss: partner.url });
    await expectRefused(get('/phantom', 'bank_1'));
    await expectRefused(lastHead('GET /bound', 'Authorization: DPoP unclaimed', 'DPoP: x'));
    await expectRefused(
      lastHead('GET /both', 'Authorization: Bearer unclaimed', ...handshake).replace('close', 'Upgrade, close'),
    );
    expect([shownTo(world.issuer), shownTo(partner)]).toEqual([[], ['partner_1']]);
  });
});

describe('tells apart equal subjects of two servers', () => {
  test.each([
    ['/both', 'bank_1', () => world.issuer.url],
    ['/both', 'partner_1', () => partner.url],
    ['/plain', 'unclaimed', () => plain.url],
  ])('%s names the issuer for %s to its upstream, even if the answer has no iss', async (path, token, issuer) => {
    const {
      'x-auth-issuer': plainHeader,
      'x-auth-identity': signed,
      'x-auth-subject': subject,
    } = await expectPass(path, token);
    expect([subject, plainHeader]).toEqual(['alice', issuer()]);
    expect(decodeJwt(String(signed))).toMatchObject({ token_issuer: issuer(), '/iss': issuer(), sub: 'alice' });
  });

  test('lets a policy read the issuer of an opaque token', async () => {
    await expectPass('/only-bank', 'bank_1');
  });

  test('refuses an answer that names another issuer', async () => {
    world.issuer.introspection.set('bank_3', { active: true, sub: 'alice', aud: AUDIENCE, iss: partner.url });
    await expectRefused(get('/both', 'bank_3'));
  });
});
