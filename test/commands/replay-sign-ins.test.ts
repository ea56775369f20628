import { expect, test } from 'vitest';
import { outcome } from './run.ts';
import { inFolder } from '../serve/config/folder.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startWorld } from '../worlds/gateway.ts';

const world = startBeforeAll(() =>
  startWorld({
    yaml: (issuer, upstream) => `
authorization_servers: { main: { issuer: ${issuer}, jwt: { algorithms: [RS256] } } }
routes:
  - { name: mcp, path: /mcp, protocol: mcp, audience: a, policy: pay, upstream: { url: '${upstream}/mcp' } }
`,
    policies: { pay: 'tools:\n  pay: { scope: pay, acr: [mfa, phr], max_age: 5m }\n' },
  }),
);

const now = (): number => Math.floor(Date.now() / 1000);
const call = async (claims: Record<string, unknown>) => {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: {} } };
  return world.send('/mcp', {
    method: 'POST',
    token: await world.token(claims),
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(message),
  });
};

test('R-176: replay decides recorded sign-ins by an edited policy', async () => {
  const recorded = async (claims: { readonly sub: string; readonly acr: string; readonly auth_time: number }) => {
    await call({ scope: 'pay', ...claims });
    return JSON.stringify(await world.gateway.decision({ subject: claims.sub }));
  };
  const log = [
    await recorded({ sub: 'recent', acr: 'mfa', auth_time: now() - 200 }),
    await recorded({ sub: 'old', acr: 'phr', auth_time: now() - 400 }),
  ];
  const yaml = `public_url: http://gateway.test
authorization_servers: { main: { issuer: '${world.issuer.url}', jwt: { algorithms: [RS256] } } }
routes:
  - { name: mcp, path: /mcp, protocol: mcp, audience: a, policy: pay, upstream: { url: 'http://127.0.0.1:1' } }
`;
  const changesBy = (edited: string) =>
    inFolder(
      {
        yaml,
        files: {
          log: log.join('\n'),
          'policies/pay.yaml': 'tools:\n  pay: { scope: pay, acr: [mfa, phr], max_age: 5m }\n',
          'edited/pay.yaml': `tools:\n  pay: ${edited}\n`,
        },
      },
      async (folder) => {
        const { stdout } = await outcome(['replay', 'log', '--json', '--policies', 'edited'], folder);
        const { changes } = JSON.parse(stdout) as { changes: readonly Record<string, string>[] };
        return changes.map(({ subject, before, after }) => `${subject}: ${before} → ${after}`).toSorted();
      },
    );
  const refused = 'deny authentication.insufficient';
  expect(await changesBy('{ scope: pay, acr: [mfa, phr], max_age: 5m }')).toEqual([]);
  expect(await changesBy('{ scope: pay, acr: [mfa, phr], max_age: 2m }')).toEqual([`recent: allow → ${refused}`]);
  expect(await changesBy('{ scope: pay, acr: phr, max_age: 10m }')).toEqual([
    `old: ${refused} → allow`,
    `recent: allow → ${refused}`,
  ]);
});
