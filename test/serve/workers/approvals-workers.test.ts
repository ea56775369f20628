import { expect, onTestFinished, test } from 'vitest';
import { inFolder } from '../../config/folder.ts';
import { startIssuer } from '../../support/issuer.ts';
import { startUpstream } from '../../support/upstream.ts';
import { sallyport } from '../process.ts';

test('R-331: operators see each request of several workers once, and decide once', { timeout: 300_000 }, async () => {
  const [issuer, upstream] = await Promise.all([startIssuer(), startUpstream()]);
  onTestFinished(async () => void (await Promise.all([issuer.close(), upstream.close()])));
  const yaml = `
public_url: http://gateway.test
listen: 127.0.0.1:0
admin: { listen: '127.0.0.1:0', token: 'Kx7-0123-of-the-operators' }
approvals: { authorization_servers: [main] }
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes: [{ name: tools, path: /mcp, protocol: mcp, policy: tools, upstream: { url: "${upstream.url}/mcp" } }]
`;
  const files = { 'policies/tools.yaml': 'tools: { pay: { approval: { by: {} } } }' };
  await inFolder({ yaml, files }, async (folder) => {
    const gateway = sallyport(['serve', '--workers', '2'], folder);
    const [, url = '', adminUrl = ''] = await gateway.says(/"url":"(http:[^"]+)","admin":"(http:[^"]+)".*"workers":2/);
    const token = await issuer.sign({ aud: 'http://gateway.test/mcp', sub: 'alice', client_id: 'agent' });
    const pay = (): Promise<Response> =>
      fetch(`${url}/mcp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":9007199254740993}}}',
      });
    const admin = (path: string, body?: string): Promise<Response> =>
      fetch(adminUrl + path, {
        headers: { authorization: 'Bearer Kx7-0123-of-the-operators' },
        ...(body !== undefined && { method: 'POST', body }),
      });
    try {
      expect((await pay()).status).toBe(403);
      const listed = await (await admin('/approvals')).text();
      expect(listed).toContain('9007199254740993');
      const { approvals } = JSON.parse(listed) as { approvals: { id: string }[] };
      expect(approvals).toHaveLength(1);
      const [{ id } = { id: '' }] = approvals;
      expect((await admin(`/approvals/${id}`, '{"decision":"approve"}')).status).toBe(200);
      expect((await admin(`/approvals/${id}`, '{"decision":"approve"}')).status).toBe(409);
      expect((await pay()).status).toBe(200);
      expect((await pay()).status).toBe(403);
    } finally {
      gateway.signal('SIGTERM');
      expect(await gateway.ended).toBe(0);
    }
  });
});
