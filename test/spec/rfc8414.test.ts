import { expect, test } from 'vitest';
import { startIssuer } from '../support/issuer.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';

/** What a server with the issuer `issuerPath` publishes at `location`, and what a good token of it gets then. */
async function discover(
  issuerPath: string,
  location: string,
  metadata: (issuer: string) => unknown,
): Promise<{ status: number; servers: unknown; asked: readonly string[] }> {
  const [issuer, upstream] = await Promise.all([startIssuer(), startUpstream()]);
  const iss = issuer.url + issuerPath;
  const asked: string[] = [];
  issuer.intercept = (request, response) => {
    if (request.url === '/jwks') return false;
    asked.push(request.url ?? '');
    const found = request.url === location;
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
    response.end(found ? JSON.stringify(metadata(iss)) : '{}');
    return true;
  };
  const gateway = await startTestGateway({
    yaml: `
authorization_servers: { main: { issuer: "${iss}", jwt: { algorithms: [RS256] } } }
routes: [{ name: api, path: /, audience: a, upstream: { url: "${upstream.url}" } }]
`,
  });
  const authorization = `Bearer ${await issuer.sign({ iss, aud: 'a' })}`;
  const { status } = await fetch(gateway.url, { headers: { authorization } });
  const ready = (await (await fetch(`${gateway.adminUrl}/readyz`)).json()) as { authorization_servers: unknown };
  await gateway.close();
  await Promise.all([issuer.close(), upstream.close()]);
  return { status, servers: ready.authorization_servers, asked };
}

const jwks = (issuer: string): string => `${new URL(issuer).origin}/jwks`;

test.for([
  ['', '/.well-known/oauth-authorization-server', 'at the root'],
  ['/tenant', '/tenant/.well-known/openid-configuration', 'appended, as OpenID Connect Discovery §4 has it'],
] as const)('R-58, RFC 8414 §3.1: discovers an issuer with the path "%s" at %s: %s', async ([path, location]) => {
  const { status } = await discover(path, location, (issuer) => ({ issuer, jwks_uri: jwks(issuer) }));
  expect(status).toBe(200);
});

test.for([
  ['another issuer', () => 'https://evil.example'],
  ['a slash more', (issuer: string) => `${issuer}/`],
] as const)('R-59, RFC 8414 §3.3: does not use metadata that names %s', async ([, named]) => {
  const { status, servers } = await discover('', '/.well-known/oauth-authorization-server', (issuer) => ({
    issuer: named(issuer),
    jwks_uri: jwks(issuer),
  }));
  expect(status).toBe(503);
  expect(servers).toMatchObject([
    { name: 'main', state: 'unavailable', problem: expect.stringContaining('names the issuer') },
  ]);
});

test('R-59, RFC 8414 §3.3: uses metadata that names the identical issuer', async () => {
  const { status, servers, asked } = await discover('', '/.well-known/oauth-authorization-server', (issuer) => ({
    issuer,
    jwks_uri: jwks(issuer),
  }));
  expect(status).toBe(200);
  expect(servers).toMatchObject([{ name: 'main', state: 'available' }]);
  expect(asked).toEqual(['/.well-known/oauth-authorization-server']);
});
