import { expect, test } from 'vitest';
import { startIssuer } from '../support/issuer.ts';
import { startWorld } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** Another organization's authorization server, which one route trusts and the other does not. */
const partner = startBeforeAll(startIssuer);
const world = startBeforeAll(async () => {
  const introspection = 'client_id: gateway, client_secret: secret';
  return startWorld({
    yaml: (issuer, upstream) => `
authorization_servers:
  main: { issuer: "${issuer}", jwt: { algorithms: [RS256] }, introspection: { ${introspection}, prefix: main_ } }
  partner: { issuer: "${partner.url}", jwt: { algorithms: [RS256] }, introspection: { ${introspection}, prefix: partner_ } }
routes:
  - { name: ours, path: /ours, audience: a, authorization_servers: [main], upstream: { url: "${upstream}" } }
  - { name: both, path: /both, audience: a, authorization_servers: [main, partner], upstream: { url: "${upstream}" } }
`,
  });
});

async function statuses(token: string): Promise<readonly number[]> {
  const paths = ['/both', '/ours', '/both', '/ours'];
  const found: number[] = [];
  for (const path of paths) found.push((await world.send(path, { token })).status);
  return found;
}

test('R-34: accepts a JWT only on the routes that trust its server, verified before or not', async () => {
  expect(await statuses(await partner.sign({ aud: 'a' }))).toEqual([200, 401, 200, 401]);
  expect(await statuses(await world.issuer.sign({ aud: 'a' }))).toEqual([200, 200, 200, 200]);
});

test('R-34: accepts an opaque token only on the routes that trust its server', async () => {
  partner.introspection.set('partner_1', { active: true, aud: 'a' });
  expect(await statuses('partner_1')).toEqual([200, 401, 200, 401]);
});

test('R-34, R-40: refuses a JWT of one server in the name of another', async () => {
  const token = await partner.sign({ aud: 'a', iss: world.issuer.url });
  expect(await statuses(token)).toEqual([401, 401, 401, 401]);
});

test('R-34: refuses an introspection answer in the name of another server', async () => {
  partner.introspection.set('partner_2', { active: true, aud: 'a', iss: world.issuer.url });
  expect(await statuses('partner_2')).toEqual([401, 401, 401, 401]);
});
