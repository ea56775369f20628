import { Agent, request } from 'node:http';
import { expect, test } from 'vitest';
import { startIssuer } from '../../support/issuer.ts';
import { startUpstream } from '../../support/upstream.ts';
import { pids, withWorkers } from './with-workers.ts';

const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: {} } });

/** The status of a call on a connection of its own, so that the workers take turns. */
function pay(url: string, token: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  request(`${url}/mcp`, { method: 'POST', headers, agent: new Agent() }, (response) => {
    response.resume().once('end', () => resolve(response.statusCode));
  })
    .once('error', reject)
    .end(message);
  return promise;
}

test('R-255: a quota holds over all workers, and after one of them was killed', { timeout: 300_000 }, async () => {
  const issuer = await startIssuer();
  const upstream = await startUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [] } }));
  });
  const yaml = `
public_url: http://gateway.test
listen: 127.0.0.1:0
admin: off
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, policy: pay, upstream: { url: "${upstream.url}/mcp" } }
`;
  const files = { 'policies/pay.yaml': 'tools: { pay: { quota: [{ count: 5, per: 1h }] } }' };
  await withWorkers({ yaml, files }, async ({ gateway, url }) => {
    const token = await issuer.sign({ aud: 'http://gateway.test/mcp', client_id: 'c' });
    const statuses = await Promise.all(Array.from({ length: 20 }, () => pay(url, token)));
    expect(Object.entries(Object.groupBy(statuses, String)).map(([status, all]) => [status, all?.length])).toEqual([
      ['200', 5],
      ['429', 15],
    ]);
    process.kill((await pids(gateway))[0] ?? 0, 'SIGKILL');
    await gateway.says(/a worker ended and is replaced/);
    expect(await pay(url, token)).toBe(429);
  });
  await Promise.all([issuer.close(), upstream.close()]);
});
