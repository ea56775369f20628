import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startIssuer } from '../../support/issuer.ts';
import { startUpstream } from '../../support/upstream.ts';
import { sallyport } from '../process.ts';
import { withWorkers, type Workers } from './with-workers.ts';

const adminToken = 'Kx7-0123-of-the-operators';

/** Two workers, a caller and an operator. */
interface Approving extends Workers {
  /** The status of a call, on a connection of its own, so that any worker may get it. */
  readonly call: (tool: string, args?: string, caller?: string) => Promise<number>;
  /** As `call`. */
  readonly pay: (args?: string, caller?: string) => Promise<number>;
  readonly admin: (path: string, body?: string) => Promise<Response>;
  /** Approves the only request that waits. */
  readonly approve: () => Promise<void>;
}

/** @param probe Whether it lists another tool: with it, a test finds out whose policy a worker has. */
const policy = (by: string, probe: boolean): string =>
  `tools: { pay: { approval: { by: ${by} } }${probe ? ', probe: {}' : ''} }`;

async function withApprovals(use: (workers: Approving) => Promise<void>): Promise<void> {
  const [issuer, upstream] = await Promise.all([startIssuer(), startUpstream()]);
  onTestFinished(async () => void (await Promise.all([issuer.close(), upstream.close()])));
  const yaml = `
public_url: http://gateway.test
listen: 127.0.0.1:0
admin: { listen: '127.0.0.1:0', token: '${adminToken}' }
approvals: { authorization_servers: [main] }
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes: [{ name: tools, path: /mcp, protocol: mcp, policy: tools, upstream: { url: "${upstream.url}/mcp" } }]
`;
  const files = { 'policies/tools.yaml': policy('{}', true) };
  await withWorkers({ yaml, files }, async (workers) => {
    const { url, adminUrl } = workers;
    const tokens = new Map<string, string>();
    const tokenOf = async (caller: string): Promise<string> => {
      const token =
        tokens.get(caller) ?? (await issuer.sign({ aud: 'http://gateway.test/mcp', sub: caller, client_id: 'agent' }));
      tokens.set(caller, token);
      return token;
    };
    const admin: Approving['admin'] = (path, body) =>
      fetch(adminUrl + path, {
        headers: { authorization: `Bearer ${adminToken}` },
        ...(body !== undefined && { method: 'POST', body }),
      });
    const call: Approving['call'] = async (tool, args = '{}', caller = 'alice') => {
      const answer = await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await tokenOf(caller)}`,
          'content-type': 'application/json',
          connection: 'close',
        },
        body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":${args}}}`,
      });
      await answer.text();
      return answer.status;
    };
    await use({
      ...workers,
      admin,
      call,
      pay: (args = '{"amount":9007199254740993}', caller) => call('pay', args, caller),
      async approve() {
        const { approvals } = (await (await admin('/approvals')).json()) as {
          approvals: { id: string; status: string }[];
        };
        const waiting = approvals.filter(({ status }) => status === 'pending');
        expect(waiting).toHaveLength(1);
        expect((await admin(`/approvals/${waiting[0]?.id}`, '{"decision":"approve"}')).status).toBe(200);
      },
    });
  });
}

test('R-331: operators see each request of several workers once, and decide once', { timeout: 300_000 }, async () => {
  await withApprovals(async ({ pay, admin }) => {
    expect(await pay()).toBe(403);
    const listed = await (await admin('/approvals')).text();
    expect(listed).toContain('9007199254740993');
    const { approvals } = JSON.parse(listed) as { approvals: { id: string }[] };
    expect(approvals).toHaveLength(1);
    const [{ id } = { id: '' }] = approvals;
    expect((await admin(`/approvals/${id}`, '{"decision":"approve"}')).status).toBe(200);
    expect((await admin(`/approvals/${id}`, '{"decision":"approve"}')).status).toBe(409);
    expect(await pay()).toBe(200);
    expect(await pay()).toBe(403);
  });
});

test('R-310: one approval lets one of 50 parallel repeats on workers pass', { timeout: 300_000 }, async () => {
  await withApprovals(async ({ pay, approve }) => {
    const repeats = async (...call: Parameters<Approving['pay']>): Promise<readonly number[]> => {
      const statuses = await Promise.all(Array.from({ length: 50 }, () => pay(...call)));
      return statuses.toSorted((one, other) => one - other);
    };
    const refused = Array<number>(50).fill(403);
    const called = '{"to":"savings","amount":5000}';
    expect(await pay(called)).toBe(403);
    await approve();
    // A changed letter, and another caller: other calls, which wait by themselves.
    expect(await repeats('{"to":"savingz","amount":5000}')).toEqual(refused);
    expect(await repeats(called, 'bob')).toEqual(refused);
    expect(await repeats(called)).toEqual([200, ...refused.slice(1)]);
    expect(await repeats(called)).toEqual(refused);
  });
});

test('R-302: an approval ends on all workers when its entry changes', { timeout: 300_000 }, async () => {
  await withApprovals(async ({ call, pay, approve, folder, gateway }) => {
    expect(await pay()).toBe(403);
    await approve();
    await writeFile(join(folder, 'policies/tools.yaml'), policy('{ claims: { role: boss } }', false));
    await gateway.says(/configuration reloaded/);
    await vi.waitFor(
      async () => {
        const probes = await Promise.all(Array.from({ length: 10 }, () => call('probe')));
        expect(new Set(probes)).toEqual(new Set([403]));
      },
      { timeout: 60_000 },
    );
    const statuses = await Promise.all(Array.from({ length: 20 }, () => pay()));
    expect(new Set(statuses)).toEqual(new Set([403]));
  });
});

test('R-332: approvals --follow shows each change of a request once', { timeout: 300_000 }, async () => {
  await withApprovals(async ({ pay, approve, folder, adminUrl }) => {
    const follow = sallyport(['approvals', '--follow', '--admin', adminUrl], folder);
    expect(await pay('{"amount":1}')).toBe(403);
    const [, id] = await follow.says(/^(\S+) {2}pending {2}tools {2}pay {2}{"amount":1} {2}by alice with agent/m);
    await approve();
    await follow.says(new RegExp(`^${id}  approved  `, 'm'));
    // The next request comes after several rounds, so that nothing else can have been shown twice by then.
    expect(await pay('{"amount":2}')).toBe(403);
    await follow.says(/{"amount":2}/);
    const states = [...follow.stdout().matchAll(new RegExp(`^${id}  (\\w+)`, 'gm'))].map(([, state]) => state);
    expect(states).toEqual(['pending', 'approved']);
    follow.signal('SIGINT');
    await follow.ended;
  });
});
