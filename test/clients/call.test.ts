/** `demo/call.ts`, which newcomers use against a server with sessions. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';

import { listen } from '../../demo/listen.ts';
import { demoApiClient, obtainToken, registerClient } from '../../demo/obtain-token.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';
import { startStatefulServer } from './stateful-server.ts';

const { world } = startDemoBeforeAll({ tools: startStatefulServer });

async function called(args: readonly string[], token = ''): Promise<{ code: number; lines: readonly string[] }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number; lines: readonly string[] }>();
  const env = { ...process.env, TOKEN: token };
  const child = execFile(process.execPath, ['demo/call.ts', world().mcpUrl.href, ...args], { env }, (_, stdout) =>
    resolve({ code: child.exitCode ?? -1, lines: stdout.trimEnd().split('\n') }),
  );
  return promise;
}

const refused = expect.stringMatching(/^401 Bearer error="invalid_token", scope="read", /) as string;
const challenged = expect.stringMatching(/^403 Bearer error="insufficient_scope", scope="read payments", /) as string;

test('signs a user in, steps up when asked, and prints each refusal and the result', async () => {
  const { code, lines } = await called(['transfer_funds', '{"from":"savings","to":"trading","amount":10}']);
  expect({ code, lines: lines.filter((line) => /^(?:40\d|alice) /.test(line)) }).toEqual({
    code: 0,
    lines: [
      refused,
      'alice signs in and consents to "read"',
      challenged,
      'alice signs in and consents to "read payments"',
    ],
  });
  expect(lines.join('')).toContain('moved');
});

test('waits until a person has approved the call, and then makes it', async () => {
  const [issuer, resource] = [world().issuer, new URL('/approvals', world().mcpUrl).href];
  const { accessToken } = await obtainToken({ issuer, client: demoApiClient, user: 'erin', scope: 'read', resource });
  const headers = { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' };
  const large = '{"from":"savings","to":"trading","amount":5000}';
  const call = called(['--wait', 'transfer_funds', large]);
  interface Waiting {
    readonly approvals: readonly { readonly id: string; readonly digest: string }[];
  }
  const { approvals } = await vi.waitFor(
    async () => {
      const found = (await (await fetch(resource, { headers })).json()) as Waiting;
      expect(found.approvals).toHaveLength(1);
      return found;
    },
    { timeout: 30_000, interval: 200 },
  );
  const [{ id, digest } = { id: '', digest: '' }] = approvals;
  const body = JSON.stringify({ decision: 'approve', digest });
  expect((await fetch(`${resource}/${id}`, { method: 'POST', headers, body })).status).toBe(200);
  const { code, lines } = await call;
  expect({ code, text: lines.join('') }).toMatchObject({ code: 0, text: expect.stringContaining('moved') });
  expect(lines.filter((line) => line.includes('approval.required'))).toHaveLength(1);
  // Without it, the refusal is the end, and its link leads a person.
  const refused = await called(['transfer_funds', large]);
  expect(refused).toMatchObject({ code: 1 });
  const [, link = ''] = /"url":"([^"]+)"/.exec(refused.lines.join('')) ?? [];
  expect(await (await fetch(link, { headers: { accept: 'text/html' } })).text()).toContain('sallyport approvals');
});

test('refuses arguments that are no object before any request', async () => {
  expect(await called(['list_accounts', '[1]'])).toEqual({
    code: 2,
    lines: [`ARGUMENTS is not a JSON object: [1]; write it in single quotes, such as '{"id":1}'`],
  });
});

test('says that no server listens', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, ['demo/call.ts', 'http://127.0.0.1:1024/mcp'], (_, stdout) => resolve(stdout));
  expect(await promise).toBe('http://127.0.0.1:1024/mcp: ECONNREFUSED: no server listens there\n');
});

test('presents the token of the environment, and then signs no user in', async () => {
  const client = await registerClient(world().issuer, 'curl', 'read');
  const { accessToken } = await obtainToken({ issuer: world().issuer, client, scope: 'read', user: 'bob' });
  expect((await called(['list_accounts'], accessToken)).code).toBe(0);
  const stepUp = await called(['transfer_funds', '{"from":"savings","to":"trading","amount":10}'], accessToken);
  expect(stepUp).toMatchObject({ code: 1, lines: [challenged, expect.stringContaining('scope.insufficient')] });
  expect(await called(['list_accounts'], 'none')).toMatchObject({ code: 1, lines: { 0: refused } });
});

test('says why the client itself refuses, such as metadata of another resource', async () => {
  const server = await listen(
    createServer((request, response) => {
      const { origin } = new URL(server.url);
      const metadata = `${origin}/.well-known/oauth-protected-resource`;
      if (request.url !== '/.well-known/oauth-protected-resource') {
        return response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
      }
      const document = { resource: 'https://elsewhere.example/mcp', authorization_servers: [world().issuer] };
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    }),
    0,
  );
  onTestFinished(() => server.close());
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, ['demo/call.ts', `${server.url}/mcp`], (_, stdout) => resolve(stdout));
  expect((await promise).trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^401 Bearer resource_metadata=/),
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/mcp: .*https:\/\/elsewhere\.example\/mcp/),
  ]);
});
