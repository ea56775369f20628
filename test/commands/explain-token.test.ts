import { beforeAll, expect, test } from 'vitest';
import { folderWith } from '../serve/config/folder.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startWorld } from '../worlds/gateway.ts';
import { outcome } from './run.ts';

const policies = {
  client_id: 'claims: { client_id: app }\n',
  azp: 'claims: { azp: app }\n',
  counted: 'tools: { pay: { quota: [{ count: 9, per: 1h, by: client }] } }\n',
};
type Named = keyof typeof policies;

const route = (name: string, protocol: string, upstream: string): string =>
  `  - { name: ${name}, path: /${name}, protocol: ${protocol}, audience: r, policy: ${name}, upstream: { url: ${upstream} } }\n`;
const yaml = (issuer: string, upstream: string): string => `
authorization_servers: { main: { issuer: ${issuer}, jwt: { algorithms: [RS256] } } }
routes:
${route('client_id', 'http', upstream)}${route('azp', 'http', upstream)}${route('counted', 'mcp', upstream)}`;
const world = startBeforeAll(() => startWorld({ yaml, policies, claims: { aud: 'r' } }));

let folder: string;
let calls = 0;
beforeAll(async () => {
  const files = Object.fromEntries(Object.entries(policies).map(([name, text]) => [`policies/${name}.yaml`, text]));
  const own = `public_url: http://gateway.test\n${yaml(world.issuer.url, world.upstream.url)}`;
  folder = await folderWith({ yaml: own, files });
});

const pay = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay' } };

test.each<[route: Named, claims: Record<string, unknown>, decision: string]>([
  ['client_id', { client_id: 'app' }, 'allow'],
  // A policy reads the claims that the token has: the client of the identity headers is no claim.
  ['client_id', { azp: 'app' }, 'claim.denied claims.client_id'],
  ['client_id', { appid: 'app' }, 'claim.denied claims.client_id'],
  ['client_id', { cid: 'app' }, 'claim.denied claims.client_id'],
  ['azp', { azp: 'app' }, 'allow'],
  ['azp', { client_id: 'app' }, 'claim.denied claims.azp'],
  ['counted', { client_id: 'app' }, 'allow'],
  ['counted', { azp: 'app' }, 'allow'],
  ['counted', { appid: 'app' }, 'allow'],
  ['counted', { appid: '', cid: 'app' }, 'allow'],
  ['counted', { appid: 5 }, 'claim.denied tools.pay.quota[0]'],
  ['counted', {}, 'claim.denied tools.pay.quota[0]'],
])('the gateway and explain decide alike on route %s for %j: %s', async (route, claims, decision) => {
  const token = await world.token(claims);
  await fetch(`${world.gateway.url}/${route}`, {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(route === 'counted' && { method: 'POST', body: JSON.stringify(pay) }),
  });
  calls += 1;
  const [decided = {}] = (await world.gateway.decisions(calls)).slice(-1);
  const explained = async (...caller: readonly string[]): Promise<Record<string, unknown>> => {
    const called = route === 'counted' ? ['--tool', 'pay', '--arguments', '{}'] : [];
    const { stdout } = await outcome(['explain', '--route', route, ...caller, ...called, '--json'], folder);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  const told = ({ allow, reason, rule }: Record<string, unknown>): string =>
    allow === true ? 'allow' : `${String(reason)} ${String(rule)}`;
  expect(told(decided)).toBe(decision);
  expect(told(await explained('--token', token))).toBe(decision);
  expect(told(await explained('--claims', JSON.stringify(claims)))).toBe(decision);
});
