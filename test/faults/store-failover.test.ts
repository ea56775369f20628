/** A whole gateway, with workers and a front door, on a store whose primary fails. */
import { expect, onTestFinished, test } from 'vitest';
import { sallyport } from '../serve/process.ts';
import { startCluster } from '../support/cluster.ts';
import { startIssuer } from '../support/issuer.ts';
import { postCall } from '../support/mcp-message.ts';
import { createProver } from '../support/prover.ts';
import { hasRedis } from '../support/redis.ts';
import { startWatchedPair } from '../support/sentinels.ts';
import { startUpstream } from '../support/upstream.ts';
import { writeFrontDoorFiles } from '../worlds/front-door.ts';
import { registerClient } from '../worlds/oauth-client.ts';
import { patience } from './patience.ts';
import { forThisTest } from '../support/start-before.ts';

type End = 'killed' | 'paused';

/** A store with a primary that can fail. */
interface FailingStore {
  readonly url: string;
  /** Waits until the replicas have all that was written. */
  replicated(): Promise<void>;
  /** Its successor stands still until it may take over. */
  fail(end: End): Promise<void>;
  takeOver(): void;
  close(): Promise<void>;
}

async function sentinelStore(): Promise<FailingStore> {
  const pair = await startWatchedPair();
  return {
    url: pair.url,
    replicated: () => pair.replicated(),
    async fail(end) {
      pair.replica.pause();
      if (end === 'killed') await pair.primary.kill();
      else pair.primary.pause();
    },
    takeOver: () => pair.replica.resume(),
    close: () => pair.close(),
  };
}

async function clusterStore(): Promise<FailingStore> {
  const cluster = await startCluster();
  const pairs = await Promise.all([0, 1, 2].map((group) => cluster.pair(group)));
  return {
    url: cluster.url,
    replicated: async () => void (await Promise.all(pairs.map(async ([master]) => cluster.replicated(master)))),
    async fail(end) {
      const [master, replica] = pairs[1] as (typeof pairs)[number];
      replica.pause();
      if (end === 'killed') await master.kill();
      else master.pause();
    },
    takeOver: () => pairs[1]?.[1].resume(),
    close: () => cluster.close(),
  };
}

const stores = { sentinel: sentinelStore, cluster: clusterStore };

/** The gateway, and its clients. */
async function startGateway(shared: string) {
  const [issuer, upstream] = await Promise.all([
    startIssuer(),
    startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [] } }));
    }),
  ]);
  const files = await writeFrontDoorFiles({
    top: `
shared: ${shared}
session_key: k3y-of-at-least-thirty-two-characters
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
approvals: { authorization_servers: [main] }`,
    policies: {
      paid: 'tools: { pay: { quota: [{ count: 5, per: 1h }] }, transfer: { approval: { by: {} } } }\n',
      proven: '{}\n',
    },
    routeLines: `
  - { name: paid, path: /paid, protocol: mcp, audience: r, authorization_servers: [main], policy: paid, upstream: { url: "${upstream.url}" } }
  - { name: proven, path: /proven, audience: r, authorization_servers: [main], dpop: {}, upstream: { url: "${upstream.url}" } }`,
  });
  const gateway = sallyport(['serve', '--workers', '2'], files.folder);
  onTestFinished(async () => {
    gateway.signal('SIGTERM');
    await gateway.ended;
    await Promise.all([files.close(), issuer.close(), upstream.close()]);
  });
  const [, admin = ''] = await gateway.says(/"admin":"(http:[^"]+)".*"workers":2/);
  const url = files.gatewayUrl;

  /** On a connection of its own, so that the workers take turns. */
  async function call(name: string, subject = 'alice'): Promise<{ readonly status: number; readonly body: string }> {
    const token = await issuer.sign({ aud: 'r', sub: subject, client_id: 'agent' });
    const response = await postCall(`${url}/paid`, name, {}, { token, headers: { connection: 'close' } });
    return { status: response.status, body: await response.text() };
  }

  const tally = { passed: 0, refused: 0, failed: 0 };
  /** Makes a call that the quota bounds. */
  async function pay(): Promise<number> {
    const { status } = await call('pay');
    if (status === 200) tally.passed += 1;
    else if (status === 429) tally.refused += 1;
    else tally.failed += 1;
    return status;
  }

  const prover = await createProver();
  /** Makes a proof, and returns what uses it. */
  async function proof(): Promise<() => Promise<number>> {
    const token = await issuer.sign({ aud: 'r', sub: 'alice', client_id: 'agent', cnf: prover.cnf });
    const headers = await prover.headers({ url: `${url}/proven`, token });
    return async () => (await fetch(`${url}/proven`, { headers: { ...headers, connection: 'close' } })).status;
  }

  /** Approves what a refusal asks for, and returns what became of it. */
  async function approve(refusal: string): Promise<unknown> {
    const [, id = ''] = /"approval":\{"id":"([^"]+)"/.exec(refusal) ?? [];
    const authorization = `Bearer ${await issuer.sign({ aud: `${url}/approvals`, sub: 'bob', client_id: 'b' })}`;
    const asked = await fetch(`${url}/approvals/${id}`, { headers: { authorization } });
    const { digest } = (await asked.json()) as { digest?: string };
    const body = JSON.stringify({ decision: 'approve', digest });
    const headers = { authorization, 'content-type': 'application/json' };
    const decided = await fetch(`${url}/approvals/${id}`, { method: 'POST', headers, body });
    return ((await decided.json()) as { status?: unknown }).status;
  }

  /** Uses up an approval. On a busy machine the store may seem unavailable in between. */
  async function transfer(subject: string): Promise<void> {
    await expect
      .poll(async () => {
        const { status, body } = await call('transfer', subject);
        if (status === 403) await approve(body);
        return status;
      }, patience)
      .toBe(200);
  }

  const text = async (path: string): Promise<string> => (await fetch(admin + path)).text();
  return { files, call, pay, tally, proof, approve, transfer, text };
}

// test/capabilities/shared-store has each end of each store.
test.skipIf(!hasRedis).for([
  ['sentinel', 'paused'],
  ['cluster', 'killed'],
] as const)(
  'R-344: workers and front door go on with what the new primary has: %s, %s',
  { timeout: 300_000 },
  async ([kind, end]) => {
    const store = await forThisTest(stores[kind]());
    const { files, call, pay, tally, proof, approve, transfer, text } = await startGateway(store.url);
    const metadata = `${files.issuer}/.well-known/oauth-authorization-server`;
    await expect.poll(async () => (await fetch(metadata).catch(() => undefined))?.status, patience).toBe(200);
    await expect.poll(() => text('/readyz'), patience).toContain('"shared_store":{"state":"available"}');

    const client = await registerClient(files.issuer);
    const code = await client.code();
    expect((await client.post(code)).status).toBe(200);
    let used = await proof();
    await expect.poll(async () => (used = await proof())(), patience).toBe(200);
    while (tally.passed < 3) await pay();
    await transfer('alice');
    await expect.poll(async () => approve((await call('transfer', 'carol')).body), patience).toBe('approved');
    await store.replicated();

    await store.fail(end);
    await expect.poll(() => text('/readyz'), { ...patience, interval: 20 }).toContain('"state":"unavailable"');
    expect(await text('/metrics')).toMatch(/^sallyport_shared_store_up 0$/m);
    // A worker that has not noticed yet may still use a shard that serves. The workers take turns.
    const asked = async (): Promise<number> => (await call('transfer', 'dave')).status;
    await expect.poll(() => Promise.all(Array.from({ length: 4 }, asked)), patience).toEqual(Array(4).fill(503));
    const ofOutage = await proof();
    const refused = await Promise.all([pay(), ofOutage(), call('transfer', 'carol').then(({ status }) => status)]);
    expect(refused).toEqual([503, 503, 503]);
    store.takeOver();

    await expect.poll(() => text('/readyz'), patience).toContain('"shared_store":{"state":"available"}');
    await expect.poll(pay, patience).toBe(429);
    // A call whose answer was lost counts.
    expect(tally.passed).toBeLessThanOrEqual(5);
    expect(tally.passed + tally.failed).toBeGreaterThanOrEqual(5);
    await expect.poll(async () => (await proof())(), patience).toBe(200);
    await expect.poll(used, patience).toBe(401);
    await expect.poll(async () => (await call('transfer', 'carol')).status, patience).toBe(200);
    for (const subject of ['alice', 'carol'])
      await expect.poll(async () => (await call('transfer', subject)).status, patience).toBe(403);
    // The client is known, a person can sign in, and the code is used up.
    await expect.poll(async () => (await client.token().catch(() => undefined))?.status, patience).toBe(200);
    expect((await client.post(code)).status).toBe(400);
  },
);
