import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { ApprovalEvent, KeptApproval } from '../../../src/capabilities/approvals/book.ts';
import type { ApprovalSettings } from '../../../src/ports/approval-settings.ts';
import { Notifier } from '../../../src/capabilities/approvals/notifier.ts';
import { forThisTest } from '../../support/start-before.ts';
import { type RequestHandler, startUpstream, type Upstream } from '../../support/upstream.ts';

const approval = {
  id: 'one',
  status: 'pending',
  createdAt: 0,
  endsAt: 1_000,
  digest: 'digest',
  call: { route: 'tools', method: 'tools/call', name: 'pay', arguments: '{"amount":9007199254740993}', hidden: 1 },
  caller: { issuer: 'http://as.test', subject: 'alice', client: 'agent' },
  because: undefined,
} as unknown as KeptApproval;

interface Hook {
  readonly server: Upstream;
  readonly lost: (readonly [event: ApprovalEvent, why: string])[];
  readonly notifier: Notifier;
  /** Resolves when at least `count` requests have arrived. */
  readonly arrived: (count: number) => Promise<void>;
}

async function startHook(handle: RequestHandler, pauseMs = 1): Promise<Hook> {
  const lost: (readonly [ApprovalEvent, string])[] = [];
  const server = await forThisTest(startUpstream(handle));
  const settings = { url: 'http://gateway.test/approvals', notify: { url: `${server.url}/hook`, secret: 'key' } };
  const notifier = new Notifier(settings as unknown as ApprovalSettings, (...each) => void lost.push(each), pauseMs);
  onTestFinished(() => notifier.close());
  return {
    server,
    lost,
    notifier,
    async arrived(count) {
      await expect.poll(() => server.seen.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(count);
    },
  };
}

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): RequestHandler =>
  (_request, response) =>
    void response.writeHead(code, headers).end();

test('R-333: each try is signed with its own time, over the same event', async () => {
  const codes = [500, 429, 204];
  const { server, lost, notifier, arrived } = await startHook((request, response, body) =>
    status(codes.shift() ?? 204)(request, response, body),
  );
  notifier.send('requested', approval);
  await arrived(3);
  for (const { headers, body } of server.seen) {
    const [, seconds, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['sallyport-signature'])) ?? [];
    expect(mac).toBe(createHmac('sha256', 'key').update(`${seconds}.${body}`).digest('hex'));
    expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(60);
    expect(headers['content-type']).toBe('application/json');
  }
  expect(new Set(server.seen.map(({ body }) => body)).size).toBe(1);
  const { event_id: id, at, ...message } = JSON.parse(server.seen[0]?.body ?? '') as Record<string, unknown>;
  expect(message).toMatchObject({
    event: 'requested',
    url: 'http://gateway.test/approvals/one',
    approval: { id: 'one' },
  });
  expect([typeof id, Number.isNaN(Date.parse(String(at)))]).toEqual(['string', false]);
  expect(server.seen[0]?.body).toContain('"amount":9007199254740993');
  expect(lost).toEqual([]);
});

test('R-333: an event has an id of its own', async () => {
  const { server, notifier, arrived } = await startHook(status(204));
  for (const event of ['requested', 'approved'] as const) notifier.send(event, approval);
  await arrived(2);
  const ids = server.seen.map(({ body }) => (JSON.parse(body) as { event_id: string }).event_id);
  expect(new Set(ids).size).toBe(2);
});

test('R-333: an event that five tries do not deliver is lost, and says why', async () => {
  const { server, lost, notifier } = await startHook(status(503));
  notifier.send('denied', approval);
  await expect.poll(() => lost, { timeout: 20_000 }).toEqual([['denied', 'it answered 503']]);
  expect(server.seen).toHaveLength(5);
});

test('R-333: a redirect is not followed', async () => {
  const elsewhere = await forThisTest(startUpstream());
  const { lost, notifier } = await startHook(status(307, { location: elsewhere.url }));
  notifier.send('used', approval);
  await expect.poll(() => lost, { timeout: 20_000 }).toEqual([['used', 'it answered 307']]);
  expect(elsewhere.seen).toEqual([]);
});

test('R-333: a server that cannot be reached loses events, and ends nothing', async () => {
  const { server, lost, notifier } = await startHook(status(204));
  await server.close();
  notifier.send('expired', approval);
  await expect.poll(() => lost.map(([event]) => event), { timeout: 20_000 }).toEqual(['expired']);
});

test('R-333: four requests are in flight, 1,000 events wait, and further ones are lost', async () => {
  const held: ServerResponse[] = [];
  const { lost, notifier, arrived } = await startHook((_request, response) => void held.push(response));
  for (let index = 0; index < 1_004; index += 1) notifier.send('requested', approval);
  expect(lost).toEqual([]);
  notifier.send('approved', approval);
  expect(lost).toEqual([['approved', '1000 events wait']]);
  await arrived(4);
  held.shift()?.writeHead(204).end();
  await arrived(5);
  notifier.send('denied', approval);
  expect(lost).toHaveLength(1);
});

test('R-333: events of 16 MiB wait, and room comes back with each that was sent', async () => {
  const held: ServerResponse[] = [];
  const { lost, notifier, arrived } = await startHook((_request, response) => void held.push(response));
  const long = { ...approval, call: { ...approval.call, arguments: `"${'x'.repeat(1024 * 1024)}"` } };
  for (let index = 0; index < 16; index += 1) notifier.send('requested', long);
  expect(lost).toEqual([['requested', 'events of 16777216 bytes wait']]);
  notifier.send('approved', approval);
  await arrived(4);
  for (const response of held.splice(0)) response.writeHead(204).end();
  await arrived(8);
  notifier.send('requested', long);
  expect(lost).toHaveLength(1);
});

test('R-333: nothing is sent after it is closed, and tries that wait are given up', async () => {
  const { server, lost, notifier, arrived } = await startHook(status(503), 200);
  notifier.send('requested', approval);
  await arrived(1);
  notifier.close();
  notifier.send('approved', approval);
  const before = server.seen.length;
  // Longer than the pause before the next try.
  await setTimeout(1_000);
  expect(server.seen.length - before).toBeLessThanOrEqual(1);
  expect(lost).toEqual([]);
});

test.each<[what: string, status: string, chunk: Buffer, lost: readonly string[]]>([
  ['an endless answer counts by its status', 'HTTP/1.1 200 OK\r\n\r\n', Buffer.alloc(64 * 1024), []],
  [
    'endless interim responses are a failure',
    '',
    Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(1_000)),
    ['it sent more than 8 interim responses'],
  ],
])('R-333: %s, and the connection ends', async (_what, status, chunk, lost) => {
  let written = 0;
  let open = 0;
  const hook = await startHook((_request, response) => {
    const { socket } = response;
    if (socket === null) return;
    open += 1;
    const write = (): void => {
      while (!socket.destroyed && socket.write(chunk)) written += chunk.length;
    };
    socket
      .on('error', () => {})
      .on('drain', write)
      .on('close', () => (open -= 1));
    socket.write(status);
    write();
  });
  hook.notifier.send('requested', approval);
  await hook.arrived(1);
  await expect.poll(() => hook.lost.map(([, why]) => why), { timeout: 4_000 }).toEqual(lost);
  await expect.poll(() => open, { timeout: 4_000 }).toBe(0);
  expect(written).toBeLessThan(40 * 1024 * 1024);
});
