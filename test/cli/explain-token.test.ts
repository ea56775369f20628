import { mkdtemp, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { outcome } from './run.ts';

const policies = {
  client_id: 'claims: { client_id: app }\n',
  azp: 'claims: { azp: app }\n',
  counted: 'tools: { pay: { quota: [{ count: 9, per: 1h, by: client }] } }\n',
};
type Named = keyof typeof policies;

let issuer: Issuer;
let upstream: Upstream;
let gateway: TestGateway;
let folder: string;
let calls = 0;

beforeAll(async () => {
  [issuer, upstream] = await Promise.all([startIssuer(), startUpstream()]);
  const route = (name: string, protocol: string): string =>
    `  - { name: ${name}, path: /${name}, protocol: ${protocol}, audience: r, policy: ${name}, upstream: { url: ${upstream.url} } }\n`;
  const yaml = `
authorization_servers: { main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } } }
routes:
${route('client_id', 'http')}${route('azp', 'http')}${route('counted', 'mcp')}`;
  gateway = await startTestGateway({ yaml, policies });
  folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  await writeFile(join(folder, 'gateway.yaml'), `public_url: http://gateway.test\n${yaml}`);
  await mkdir(join(folder, 'policies'));
  for (const [name, text] of Object.entries(policies)) await writeFile(join(folder, 'policies', `${name}.yaml`), text);
});
afterAll(async () => {
  await Promise.all([gateway.close(), issuer.close(), upstream.close()]);
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
  const token = await issuer.sign({ aud: 'r', ...claims });
  await fetch(`${gateway.url}/${route}`, {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(route === 'counted' && { method: 'POST', body: JSON.stringify(pay) }),
  });
  calls += 1;
  const [decided = {}] = (await gateway.decisions(calls)).slice(-1);
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
