import { describe, expect, onTestFinished, test } from 'vitest';
import { folderWith } from '../serve/config/folder.ts';
import { sallyport } from '../serve/process.ts';
import { pids } from '../serve/workers/with-workers.ts';
import { startIssuer } from '../support/issuer.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { caep, push, startTransmitter } from '../support/transmitter.ts';
import { startUpstream } from '../support/upstream.ts';
import { startRevocationWorld } from '../worlds/revocation.ts';
import { forThisTest } from '../support/start-before.ts';

/** A transmitter, an issuer, an upstream with a stream, and the configuration of gateways between them. */
async function parts(revocation = '', more = '') {
  const [issuer, transmitter, upstream] = await Promise.all([
    startIssuer(),
    startTransmitter(),
    startUpstream((request, response) => {
      if (request.url !== '/api/stream') return void response.end('{}');
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    }),
  ]);
  onTestFinished(async () => {
    await Promise.all([issuer.close(), transmitter.close(), upstream.close()]);
  });
  const yaml = `
public_url: http://gateway.test
listen: 127.0.0.1:0
admin: 127.0.0.1:0
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
revocation:
  events:
    okta: { issuer: "${transmitter.url}", delivery: push, path: /events }
  ${revocation}
${more}
routes:
  - { name: api, path: /api, audience: a, upstream: { url: "${upstream.url}/api" } }
`;
  const revoke = async (url: string, sub: string, claims = {}) => {
    const set = await transmitter.sign(
      `${caep}session-revoked`,
      { format: 'iss_sub', iss: issuer.url, sub },
      {},
      { claims },
    );
    return (await push(`${url}/events`, set)).status;
  };
  const token = (sub: string) => issuer.sign({ aud: 'a', sub });
  return { issuer, yaml, revoke, token };
}

const ask = async (url: string, token: string, path = '/api'): Promise<number> =>
  (await fetch(url + path, { headers: { authorization: `Bearer ${token}`, connection: 'close' } })).status;
const listening = /"msg":"listening","url":"(http:[^"]+)","admin":"(http:[^"]+)"/;

async function serve(folder: string, args: readonly string[] = []) {
  const gateway = sallyport(['serve', ...args], folder);
  const [, url = '', adminUrl = ''] = await gateway.says(listening);
  return { gateway, url, adminUrl };
}

const people = ['alice', 'dora', 'emil'];

/** The shortest of up to three runs, in ms, less what the machine itself needs for twenty requests beside other load. */
async function shortest(url: string, revokeAndWait: (person: string) => Promise<void>): Promise<number> {
  let ms = Infinity;
  for (const person of people) {
    const begun = performance.now();
    // A run is measured alone.
    await revokeAndWait(person);
    const ended = performance.now();
    for (let request = 0; request < 20; request += 1) await ask(url, '');
    ms = Math.min(ms, ended - begun - (performance.now() - ended));
    if (ms < 1_000) break;
  }
  return ms;
}

async function stop(...running: readonly Awaited<ReturnType<typeof serve>>[]): Promise<void> {
  for (const { gateway } of running) gateway.signal('SIGTERM');
  await Promise.all(running.map(({ gateway }) => gateway.ended));
}

describe('revocation.file', () => {
  test('R-320: a gateway that is killed while events arrive has lost none that it acknowledged, and takes the rest', async () => {
    const { yaml, revoke, token } = await parts('file: revocations.jsonl');
    const folder = await folderWith({ yaml, files: {} });
    const names = Array.from({ length: 200 }, (_, index) => `person-${index}`);
    const tokens = await Promise.all(names.map(token));
    const first = await serve(folder);
    let taken = 0;
    const all = names.map(async (sub) => {
      const status = await revoke(first.url, sub, { jti: sub }).catch(() => 0);
      taken += status === 202 ? 1 : 0;
      if (taken === 20) process.kill(first.gateway.pid, 'SIGKILL');
      return status;
    });
    const statuses = await Promise.all(all);
    await first.gateway.ended;
    const second = await serve(folder);
    const kept = names.filter((_, index) => statuses[index] === 202);
    expect(kept.length).toBeGreaterThanOrEqual(20);
    const acknowledged = tokens.filter((_, index) => statuses[index] === 202);
    expect(new Set(await Promise.all(acknowledged.map((each) => ask(second.url, each))))).toEqual(new Set([401]));
    expect(new Set(await Promise.all(names.map((sub) => revoke(second.url, sub, { jti: sub }))))).toEqual(
      new Set([202]),
    );
    expect(new Set(await Promise.all(tokens.map((each) => ask(second.url, each))))).toEqual(new Set([401]));
    await stop(second);
  });

  test('R-345: a second gateway on the file of a running one does not start', async () => {
    const { yaml, revoke, token } = await parts('file: revocations.jsonl');
    const folder = await folderWith({ yaml, files: {} });
    const alice = await token('alice');
    const first = await serve(folder);
    expect(await revoke(first.url, 'alice')).toBe(202);
    const second = sallyport(['serve'], folder);
    expect(await second.ended).toBe(1);
    expect(second.stderr()).toMatch(/revocation\.file: another gateway uses .*revocations\.jsonl: stop it/);
    expect(await ask(first.url, alice)).toBe(401);
    await stop(first);
  });
});

/** The keys of a store that processes share. */
const shared = (url: string, onFailure = 'closed'): string =>
  `shared: ${url}\nsession_key: k3y-of-at-least-thirty-two-characters\non_store_failure: ${onFailure}`;

test.skipIf(!hasRedis)(
  'R-321: all workers refuse a revoked token, end its streams, and a new one knows it too',
  async () => {
    const redis = await forThisTest(startRedis());
    const { yaml, issuer, revoke, token } = await parts('', shared(redis.url));
    const operator = `admin: { listen: '127.0.0.1:0', token: the-token-of-an-operator }`;
    const folder = await folderWith({ yaml: yaml.replace('admin: 127.0.0.1:0', operator), files: {} });
    const { gateway, url, adminUrl } = await serve(folder, ['--workers', '2']);
    const alice = await token('alice');
    const streamsOf = async (person: string): Promise<readonly { readonly over: Promise<string> }[]> => {
      const headers = { authorization: `Bearer ${await token(person)}`, connection: 'close' };
      return Promise.all(
        Array.from({ length: 6 }, async () => {
          const over = (await fetch(`${url}/api/stream`, { headers })).text();
          // Streams that are not revoked break when the gateway stops.
          over.catch(() => {});
          return { over };
        }),
      );
    };
    const open = Object.fromEntries(
      await Promise.all(people.map(async (person) => [person, await streamsOf(person)] as const)),
    );
    const endMs = await shortest(url, async (person) => {
      expect(await revoke(url, person)).toBe(202);
      await Promise.all(open[person]?.map(({ over }) => over) ?? []);
    });
    expect(endMs).toBeLessThan(1_000);
    const everywhere = async (): Promise<Set<number>> =>
      new Set(await Promise.all(Array.from({ length: 8 }, () => ask(url, alice))));
    expect(await everywhere()).toEqual(new Set([401]));
    const [victim = 0] = await pids(gateway);
    process.kill(victim, 'SIGKILL');
    await gateway.says(/a worker ended and is replaced/);
    await expect.poll(() => pids(gateway)).toHaveLength(2);
    expect(await everywhere()).toEqual(new Set([401]));
    // The first process keeps nothing of it: it asks a worker.
    const headers = { authorization: 'Bearer the-token-of-an-operator', connection: 'close' };
    const admin = async (path: string): Promise<string> => (await fetch(adminUrl + path, { headers })).text();
    const listed = (await admin('/revocations')).trim().split('\n');
    expect(listed.map((line) => (JSON.parse(line) as { subject: string }).subject)).toContain('alice');
    const fred = await token('fred');
    const body = JSON.stringify({ subject: 'fred', issuer: issuer.url });
    const answer = await fetch(`${adminUrl}/revocations`, { method: 'POST', headers, body });
    expect(await answer.json()).toMatchObject({ status: 'revoked' });
    const ofFred = async (): Promise<Set<number>> =>
      new Set(await Promise.all(Array.from({ length: 4 }, () => ask(url, fred))));
    await expect.poll(ofFred).toEqual(new Set([401]));
    // A worker that begins gives no metrics yet; the lease of one that was killed ends by itself.
    const metrics = (): Promise<string> => admin('/metrics').catch(String);
    const isUp = /^sallyport_revocation_source_up\{source="okta"\} 1$/m;
    await expect.poll(metrics, { timeout: 60_000, interval: 200 }).toMatch(isUp);
    const page = await metrics();
    expect(page).toMatch(new RegExp(`^sallyport_revocations_kept ${listed.length + 1}$`, 'm'));
    expect(page.match(/^# TYPE sallyport_revocations_total /gm)).toHaveLength(1);
    expect(JSON.parse(await admin('/console.json'))).toMatchObject({
      revocation: { kept: listed.length + 1, sources: [{ name: 'okta', up: true }] },
    });
    gateway.signal('SIGTERM');
    await gateway.ended;
  },
);

describe.skipIf(!hasRedis)('shared', () => {
  test('each replica knows of a revocation within a second, also one that was away, or that starts later', async () => {
    const redis = await forThisTest(startRedis());
    const { yaml, revoke, token } = await parts('', shared(redis.url));
    const folder = await folderWith({ yaml, files: {} });
    const [one, two] = await Promise.all([serve(folder), serve(folder)]);
    const [alice, bob, carol] = await Promise.all(['alice', 'bob', 'carol'].map(token));
    // Before the event: a token of a later second is a new sign-in.
    const theirs = Object.fromEntries(
      await Promise.all(people.map(async (each) => [each, await token(each)] as const)),
    );
    const knownMs = await shortest(two.url, async (person) => {
      expect(await revoke(one.url, person, { jti: person === 'alice' ? 'once' : person })).toBe(202);
      await expect.poll(() => ask(two.url, theirs[person] ?? ''), { interval: 20 }).toBe(401);
    });
    expect(knownMs).toBeLessThan(1_000);
    expect(await revoke(two.url, 'alice', { jti: 'once' })).toBe(202);
    await two.gateway.says(/"result":"repeated"/);
    process.kill(two.gateway.pid, 'SIGSTOP');
    expect(await revoke(one.url, 'bob')).toBe(202);
    process.kill(two.gateway.pid, 'SIGCONT');
    await expect.poll(() => ask(two.url, bob ?? ''), { interval: 20 }).toBe(401);
    const three = await serve(folder);
    // It may start before its store answers, and refuses until then.
    const seen: number[] = [];
    const askedAt = async (): Promise<number> => {
      seen.push(await ask(three.url, alice ?? ''));
      return seen.at(-1) ?? 0;
    };
    await expect.poll(askedAt, { timeout: 10_000 }).toBe(401);
    expect(seen).not.toContain(200);
    // What is known goes on without the store, and what cannot be kept is not acknowledged.
    redis.pause();
    expect(await ask(three.url, bob ?? '')).toBe(401);
    expect(await revoke(one.url, 'carol')).toBe(503);
    expect(await ask(one.url, carol ?? '')).toBe(401);
    redis.resume();
    await expect.poll(() => revoke(one.url, 'carol')).toBe(202);
    await expect.poll(() => ask(two.url, carol ?? '')).toBe(401);
    // A store that lost everything gets it back from those who know.
    await redis.client.flushAll();
    const four = await serve(folder);
    await expect.poll(() => ask(four.url, alice ?? '')).toBe(401);
    await stop(one, two, three, four);
  });

  test.each([
    ['closed', 503],
    ['open', 200],
  ])('a gateway that starts without the store follows on_store_failure: %s', async (onFailure, status) => {
    const redis = await forThisTest(startRedis());
    await redis.kill();
    const world = await forThisTest(startRevocationWorld({ yaml: shared(redis.url, onFailure) }));
    const statusNow = async (): Promise<number> => (await world.send('/api', { token: await world.token() })).status;
    expect(await statusNow()).toBe(status);
    await redis.restart();
    await expect.poll(statusNow).toBe(200);
  });

  test('only one replica polls at a time, and another one goes on when it ends', async () => {
    const redis = await forThisTest(startRedis());
    const transmitter = await startTransmitter();
    const requestsTo = (target: string) => transmitter.requests.filter(({ path }) => path === target).length;
    const start = () =>
      startRevocationWorld({
        transmitter,
        yaml: shared(redis.url),
        source: (issuer) => `issuer: ${issuer}, subjects: main, token: '\${env:TRANSMITTER_TOKEN}'`,
      });
    const one = await start();
    await expect.poll(() => requestsTo('/poll')).toBeGreaterThan(0);
    await forThisTest(start());
    await expect.poll(() => requestsTo('/.well-known/ssf-configuration')).toBe(2);
    expect(transmitter.streams).toHaveLength(1);
    await one.gateway.close();
    const before = requestsTo('/poll');
    // As if the lease of the other one had expired.
    await redis.client.flushAll();
    await expect.poll(() => requestsTo('/poll')).toBeGreaterThan(before);
    expect(transmitter.streams).toHaveLength(1);
    await Promise.all([one.issuer.close(), one.upstream.close()]);
  });
});
