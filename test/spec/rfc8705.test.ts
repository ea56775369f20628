import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { x509 } from '../support/certificates.ts';
import { startWorld, type Answer } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** Behind a proxy that is trusted with what it says of certificates. */
const world = startBeforeAll(() =>
  startWorld({
    top: 'certificate_proxies: [127.0.0.1/32]',
    server: 'jwt: { algorithms: [RS256] }, introspection: { client_id: gateway, client_secret: secret, cache: 30s }',
    routes: [
      'name: api, path: /api, audience: a, upstream: { url: "UPSTREAM" }',
      'name: required, path: /required, audience: a, dpop: { required: true }, upstream: { url: "UPSTREAM" }',
    ],
  }),
);

const { raw: mine } = x509('client');
const { raw: others } = x509('server');
const thumbprint = (der: Buffer): string => hash('sha256', der, 'base64url');
const cnf = { 'x5t#S256': thumbprint(mine) };
const token = (claims: Record<string, unknown> = { cnf }): Promise<string> =>
  world.issuer.sign({ aud: 'a', ...claims });
const reason = async (): Promise<unknown> => (await world.gateway.decision())['reason'];

function show(shown: string, certificate: Buffer | undefined, path = '/api'): Promise<Answer> {
  const headers = certificate && { 'client-cert': `:${certificate.toString('base64')}:` };
  return world.send(path, { token: shown, ...(headers && { headers }) });
}

test('R-72, RFC 8705 §3: serves a token with the certificate that it is bound to', async () => {
  expect((await show(await token(), mine)).status).toBe(200);
});

test('R-72, RFC 8705 §3: answers 401 invalid_token for another certificate, or none', async () => {
  for (const certificate of [others, undefined]) {
    const answer = await show(await token(), certificate);
    expect(answer).toMatchObject({ status: 401, challenge: 'Bearer error="invalid_token"' });
    expect(await reason()).toBe('token.binding');
  }
});

test('R-72, RFC 8705 §3: refuses a cached token without its certificate', async () => {
  const shown = await token();
  expect((await show(shown, mine)).status).toBe(200);
  expect((await show(shown, undefined)).status).toBe(401);
  expect((await show(shown, mine)).status).toBe(200);
});

test('R-72, RFC 8705 §3: serves an unbound token with or without a certificate', async () => {
  for (const certificate of [mine, undefined]) {
    expect((await show(await token({}), certificate)).status).toBe(200);
  }
  expect((await show(await token({}), mine, '/required')).status, 'unless it must be bound').toBe(401);
  expect(await reason()).toBe('token.unbound');
  expect((await show(await token(), mine, '/required')).status).toBe(200);
});

test('R-73, RFC 8705 §3.1: refuses a thumbprint in another form', async () => {
  expect((await show(await token({ cnf: { 'x5t#S256': hash('sha256', mine, 'hex') } }), mine)).status).toBe(401);
  expect(await reason()).toBe('token.sender_constrained');
});

test('R-74, RFC 8705 §3.2: binds an opaque token by the cnf of its introspection', async () => {
  world.issuer.introspection.set('opaque', { active: true, sub: 'alice', aud: 'a', cnf });
  expect((await show('opaque', mine)).status).toBe(200);
  expect((await show('opaque', others)).status).toBe(401);
  expect(await reason()).toBe('token.binding');
});
