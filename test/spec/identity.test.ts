import { expect, test } from 'vitest';
import { startService } from './service.ts';
import { startWorld } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

const service = startBeforeAll(startService);

test('R-47, R-127: sends the subject of the token to the API, whatever the client claims', async () => {
  const headers = { 'x-auth-subject': 'mallory', 'X-Auth-Risk': '1', x_auth_subject: 'mallory' };
  const token = await service.apiToken({ sub: 'alice', risk: 49 });
  expect(await service.send('/demo/highworthdata', { token, headers })).toMatchObject({ status: 200 });
  const seen = service.upstream.seen.at(-1);
  expect(seen?.headers).toMatchObject({ 'x-auth-subject': 'alice', 'x-auth-risk': '49' });
  expect(JSON.stringify(seen)).not.toContain('mallory');
});

test('R-127: sends no subject for a token without one, not even the client’s', async () => {
  const token = await service.apiToken({ sub: undefined });
  expect(await service.send('/demo/data', { token, headers: { 'x-auth-subject': 'mallory' } })).toMatchObject({
    status: 200,
  });
  expect(service.upstream.seen.at(-1)?.headers['x-auth-subject']).toBeUndefined();
});

test('R-48: finds claims under the names that OAuth gives them, and under no others', async () => {
  const platform = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier';
  const world = await startWorld({
    yaml: (issuer, upstream) => `
authorization_servers: { main: { issuer: "${issuer}", jwt: { algorithms: [RS256] } } }
routes:
  - name: api
    path: /
    audience: a
    policy: p
    upstream: { url: "${upstream}", identity: { x-sub: sub, x-scope: scope, x-client: client_id, x-role: role, x-long: "${platform}" } }
`,
    policies: { p: 'scope: read\nclaims: { role: trader }\n' },
  });
  const claims = { aud: 'a', sub: 'alice', scope: 'read', client_id: 'web', role: 'trader' };
  const { status } = await world.send('/', { token: await world.issuer.sign(claims) });
  const translated = {
    aud: 'a',
    [platform]: 'alice',
    scope: 'read',
    'http://schemas.microsoft.com/ws/2008/06/identity/claims/role': 'trader',
  };
  const other = await world.send('/', { token: await world.issuer.sign(translated) });
  await world.close();
  expect([status, other.status]).toEqual([200, 403]);
  expect(world.upstream.seen.at(-1)?.headers).toMatchObject({
    'x-sub': 'alice',
    'x-scope': 'read',
    'x-client': 'web',
    'x-role': 'trader',
  });
  expect(world.upstream.seen.at(-1)?.headers['x-long']).toBeUndefined();
});
