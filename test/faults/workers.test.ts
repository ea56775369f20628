import { readdir, readlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import type { Sallyport } from '../serve/process.ts';
import { pids, startWithWorkers } from '../serve/workers/with-workers.ts';
import { startIssuer } from '../support/issuer.ts';
import { startUpstream } from '../support/upstream.ts';
import { patience, patient, rounds } from './patience.ts';

const CLIENTS = 6;
/** How many answers show that it serves. */
const ENOUGH = 24;

test('worker: is killed under load', patient, async () => {
  expect(await whileKilling('SIGKILL')).toEqual([]);
});
test('worker: hangs and is then killed', patient, async () => {
  expect(await whileKilling('SIGSTOP')).toEqual([]);
});

/** Kills workers while clients of every kind come on connections of their own; each has the right answer, or none. */
async function whileKilling(first: 'SIGKILL' | 'SIGSTOP'): Promise<readonly unknown[]> {
  const [issuer, upstream] = await Promise.all([startIssuer(), startUpstream()]);
  const yaml = `
public_url: http://gateway.test
listen: 127.0.0.1:0
admin: 127.0.0.1:0
authorization_servers: { main: { issuer: ${issuer.url}, timeout: 60s, jwt: { algorithms: [RS256] } } }
limits: { failures: off }
routes: [{ name: api, path: /, audience: r, policy: p, upstream: { url: "${upstream.url}" } }]
`;
  const [reader, stranger, expired] = await Promise.all([
    issuer.sign({ aud: 'r', scope: 'read' }),
    issuer.sign({ aud: 'r' }),
    issuer.sign({ aud: 'r', exp: 1 }),
  ]);
  const right: Readonly<Record<string, string>> = { [reader]: '200', [stranger]: '403', [expired]: '401' };
  const wrong: unknown[] = [];
  const running = await startWithWorkers({ yaml, files: { 'policies/p.yaml': 'scope: read\n' } });
  const { gateway, url } = running;
  try {
    const seen: (readonly [string, string])[] = [];
    const over = new AbortController();
    const load = Array.from({ length: CLIENTS }, async (_, client) => {
      const token = Object.keys(right)[client % 3] ?? '';
      while (!over.signal.aborted) seen.push([right[token] ?? '', await statusOf(url, token)]);
    });
    const served = async (): Promise<void> => {
      const before = seen.length;
      await expect
        .poll(() => seen.slice(before).filter(([, status]) => status !== '').length, patience)
        .toBeGreaterThan(ENOUGH);
    };
    await served();
    const before = await socketsOf(gateway);
    for (let round = 0; round < rounds; round += 1) {
      const [survivor, victim] = await pids(gateway);
      process.kill(victim ?? 0, first);
      if (first === 'SIGSTOP') {
        await served();
        process.kill(victim ?? 0, 'SIGKILL');
      }
      await expect.poll(() => pids(gateway), patience).not.toContain(victim);
      await served();
      await expect.poll(async () => (await pids(gateway)).length, patience).toBe(2);
      expect(await pids(gateway)).toContain(survivor);
    }
    over.abort();
    await Promise.all(load);
    wrong.push(...seen.filter(([wanted, got]) => got !== wanted && got !== ''));
    // One that waits to be handed over, and what the new worker's channel takes, are no leak.
    await expect.poll(() => socketsOf(gateway), patience).toBeLessThanOrEqual(before);
  } finally {
    await running.close();
  }
  await Promise.all([issuer.close(), upstream.close()]);
  return wrong;
}

/** The status of one call; `''` where the connection ended before it. Of one that has to wait for a worker's end, too. */
function statusOf(url: string, token: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        `GET / HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
      ),
    );
    const timer = setTimeout(() => {
      text = 'HTTP/1.1 hangs';
      socket.destroy();
    }, 2 * patience.timeout);
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(text.split(' ')[1] ?? '');
    });
  });
}

/** The sockets of the first process, which hands connections over. */
async function socketsOf({ pid }: Sallyport): Promise<number> {
  const names = await readdir(`/proc/${pid}/fd`);
  const links = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return links.filter((link) => link.startsWith('socket:')).length;
}
