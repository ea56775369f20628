import { expect, test } from 'vitest';
import { startRawUpstream } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startWorld } from '../worlds/gateway.ts';

/** The bytes of an answer that no HTTP library would let through. */
let answer = '';
const bare = startBeforeAll(() => startRawUpstream(({ socket }) => socket.end(answer)));
const world = startBeforeAll(() =>
  startWorld({
    routes: [
      'name: open, path: /open, public: true, upstream: { url: "UPSTREAM" }',
      'name: read, path: /read, public: true, methods: [GET, HEAD], upstream: { url: "UPSTREAM" }',
      `name: bare, path: /bare, public: true, upstream: { url: "${bare.url}" }`,
      'name: api, path: /api, audience: a, upstream: { url: "UPSTREAM" }',
    ],
  }),
);

/** The header section of the last request that reached the upstream. */
function seenFields(): Record<string, unknown> {
  return world.upstream.seen.at(-1)?.headers ?? {};
}

// test/attacks/hop-by-hop.test.ts has the table of fields.
test('R-128, RFC 9110 §7.6.1: removes the fields of one connection from a request', async () => {
  await world.sendRaw('GET /open HTTP/1.1', 'Host: gateway.test', 'Keep-Alive: timeout=5', 'TE: gzip', 'X-Kept: yes');
  expect(seenFields()).toMatchObject({ 'x-kept': 'yes' });
  expect(Object.keys(seenFields())).not.toEqual(expect.arrayContaining(['te']));
  expect(Object.keys(seenFields())).not.toEqual(expect.arrayContaining(['keep-alive']));
});

test('R-128, RFC 9110 §7.6.1: removes fields that Connection names, in any case', async () => {
  await world.sendRaw(
    'GET /open HTTP/1.1',
    'Host: gateway.test',
    'Connection: X-Hop, x-other',
    'X-Hop: 1',
    'X-Other: 1',
    'X-Kept: yes',
  );
  const headers = seenFields();
  expect(headers).toMatchObject({ 'x-kept': 'yes' });
  expect([headers['x-hop'], headers['x-other']]).toEqual([undefined, undefined]);
});

test('R-129, RFC 9110 §7.6.1: answers 400 when Connection names a field that decides', async () => {
  const before = world.upstream.seen.length;
  const lines = ['Host: gateway.test', 'Connection: Authorization'];
  expect(await world.sendRaw('GET /open HTTP/1.1', ...lines)).toMatch(/^HTTP\/1\.1 400 /);
  expect(world.upstream.seen.length).toBe(before);
});

test('R-128, RFC 9110 §7.6.1: removes the fields of one connection from an answer', async () => {
  answer = [
    'HTTP/1.1 200 OK',
    'Connection: close, X-Hop',
    'Keep-Alive: timeout=9',
    'Proxy-Authenticate: Basic',
    'X-Hop: 1',
    'X-Kept: yes',
    'Content-Length: 2',
    '',
    'ok',
  ].join('\r\n');
  const raw = await world.sendRaw('GET /bare HTTP/1.1', 'Host: gateway.test');
  expect(raw).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(raw).toContain('X-Kept: yes\r\n');
  expect(raw).not.toMatch(/x-hop|timeout=9|proxy-authenticate/i);
});

test('R-131, RFC 9110 §8.6: breaks off an answer that ends before its length', async () => {
  answer = 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok';
  await expect(world.send('/bare')).rejects.toThrow('terminated');
});

test('R-132, RFC 9110 §15.6.3: answers 502 when the upstream does not answer in HTTP', async () => {
  answer = 'nonsense\r\n\r\n';
  expect(await world.send('/bare')).toMatchObject({ status: 502 });
});

test('R-21, RFC 9110 §15.5.2: sends a challenge with a 401', async () => {
  expect(await world.send('/api')).toMatchObject({ status: 401, challenge: 'Bearer' });
});

test('R-23, RFC 9110 §15.5.6: sends Allow with a 405', async () => {
  const { status, headers } = await world.send('/read', { method: 'POST' });
  expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

test('R-24, RFC 9110 §9.3.8: does not forward TRACE', async () => {
  const before = world.upstream.seen.length;
  expect(await world.sendRaw('TRACE /open HTTP/1.1', 'Host: gateway.test')).toMatch(/^HTTP\/1\.1 405 /);
  expect(world.upstream.seen.length).toBe(before);
});

test('R-23, RFC 9110 §15.5.6: sends Allow also where the route serves every other method', async () => {
  expect(await world.sendRaw('TRACE /open HTTP/1.1', 'Host: gateway.test')).toMatch(/^allow: .*\bGET\b/im);
});
