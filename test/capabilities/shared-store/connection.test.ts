import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type StoreConnection, StoreError } from '../../../src/ports/store.ts';
import { hasRedis, type Redis } from '../../support/redis.ts';
import {
  available,
  closeOpened,
  connected,
  KEY,
  listener,
  opened,
  PATIENT_MS,
  problemAt,
  redisWith,
  replicaAt,
} from './opened.ts';

afterEach(closeOpened);

const ask = (connection: StoreConnection): Promise<unknown> =>
  connection.run('get', 'x', (client) => client.getRange('x', 0, -1));

/** The same store, 30 ms away. */
async function distant(redis: Redis): Promise<string> {
  const server = createServer((socket) => {
    const there = connect(redis.port, '127.0.0.1');
    socket.on('data', (chunk) => setTimeout(() => there.write(chunk), 30));
    socket.on('error', () => {}).on('close', () => there.destroy());
    there.on('error', () => {}).pipe(socket);
  }).listen(0, '127.0.0.1');
  opened.push(async () => void server.close());
  await once(server, 'listening');
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A connection to a store of its own. On a busy machine a command may take too long, except where that is tested. */
async function ownStore(commandMs: number | undefined) {
  const redis = await redisWith();
  return { redis, ...(await available(redis.url, commandMs)) };
}

/** How long `work` took, whatever came of it. */
async function took(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work().catch(() => {});
  return performance.now() - begun;
}

describe.skipIf(!hasRedis)('a store', () => {
  test('is unavailable until it is connected', async () => {
    const [redis, told] = [await redisWith(), listener()];
    const connection = connected(redis.url, told, PATIENT_MS);
    expect(connection.state()).toEqual({ state: 'unavailable', problem: 'not connected yet' });
    await expect(ask(connection)).rejects.toThrow(StoreError);
    await told.until(true);
    expect(connection.state()).toEqual({ state: 'available' });
    await redis.client.set('x', '1');
    await expect(ask(connection)).resolves.toBe('1');
    expect(told.requests).toEqual(['get away', 'get ok']);
    expect(told.lines).toEqual([{ level: 'info', msg: 'shared store available' }]);
  });

  test('that dies is unavailable at once and reconnects, with one log line for each change', async () => {
    const { redis, told, connection } = await ownStore(PATIENT_MS);
    await redis.kill();
    await told.until(false);
    expect(connection.state()).toEqual({ state: 'unavailable', problem: expect.any(String) });
    await expect(ask(connection)).rejects.toThrow(StoreError);
    expect(told.requests).toEqual(['get away']);
    await redis.restart();
    await told.until(true);
    await expect(ask(connection)).resolves.toBe('');
    expect(told.lines.map(({ msg }) => msg)).toEqual([
      'shared store available',
      'shared store unavailable',
      'shared store available',
    ]);
  });

  test('that hangs delays only the pending commands, by a quarter of a second', async () => {
    const { redis, told, connection } = await ownStore(undefined);
    redis.pause();
    const first = await Promise.all(Array.from({ length: 20 }, () => took(() => ask(connection))));
    expect(Math.min(...first)).toBeGreaterThan(200);
    expect(Math.max(...first)).toBeLessThan(2_000);
    // It still accepts connections; that is not enough to be asked again.
    for (let n = 0; n < 5; n += 1) await expect(ask(connection)).rejects.toThrow(StoreError);
    expect(told.requests.filter((request) => request === 'get away')).toHaveLength(5);
    expect(connection.state()).toMatchObject({ state: 'unavailable' });
    redis.resume();
    await told.until(true);
    await expect(ask(connection)).resolves.toBe('');
  });

  test('stays available while the gateway’s event loop is blocked', async () => {
    const { connection } = await available(await distant(await redisWith()));
    const asked = ask(connection);
    const begun = performance.now();
    while (performance.now() - begun < 500);
    await expect(asked).resolves.toBe('');
    expect(connection.state()).toEqual({ state: 'available' });
  });

  test('that starts later is found', async () => {
    const [redis, told] = [await redisWith(), listener()];
    await redis.kill();
    const connection = connected(redis.url, told, PATIENT_MS);
    await expect.poll(() => told.lines.length).toBe(1);
    expect(told.lines).toEqual([
      { level: 'warn', msg: 'shared store unavailable', problem: expect.stringContaining('ECONNREFUSED') },
    ]);
    await redis.restart();
    await told.until(true);
    expect(connection.state()).toEqual({ state: 'available' });
  });

  test('gets its password; the problem of a wrong one does not name it', async () => {
    const redis = await redisWith('--requirepass', 'right%2Fs3cr3t');
    const url = new URL(redis.url);
    const { connection } = await available(`redis://:${encodeURIComponent('right%2Fs3cr3t')}@${url.host}`, PATIENT_MS);
    await expect(ask(connection)).resolves.toBe('');
    expect(await problemAt(`redis://gateway:wr%6Fng-s3cr3t@${url.host}`)).toContain('WRONGPASS');
    expect(await problemAt(`redis://${url.host}`)).toContain('NOAUTH');
  });

  test('works with exactly the permissions of docs/replicas.md', async () => {
    const [redis, told] = [await redisWith(), listener()];
    const page = await readFile(new URL('../../../docs/replicas.md', import.meta.url), 'utf8');
    const [, rules = ''] = /`(~sallyport:v1:[^`]+)`/.exec(page) ?? [];
    await redis.client.aclSetUser('gateway', ['on', '>secret', ...rules.split(' ')]);
    const url = `redis://gateway:secret@127.0.0.1:${redis.port}`;
    const shared = await replicaAt(url, told, { commandMs: PATIENT_MS });
    const { limiters } = await shared.prepare({ url, onFailure: 'closed' }, KEY);
    const end = Date.now() + 5000;
    shared.answers.set('introspection', 'key', 1, end);
    expect(await shared.answers.get('introspection', 'key')).toMatchObject({ answer: 1 });
    shared.answers.delete('introspection', 'key');
    expect(await shared.answers.get('introspection', 'key')).toBeUndefined();
    expect(await shared.replay.firstSeen('jti', end, 'alice')).toBe(true);
    expect(await shared.replay.firstSeen('jti', end, 'alice')).toBe(false);
    const limiter = limiters('requests', { requests: 1, perMs: 60_000, burst: 1 });
    expect([await limiter.take('a'), await limiter.take('a')]).toEqual([0, expect.any(Number)]);
    limiter.give('a');
    expect(await shared.answers.get('introspection', 'key')).toBeUndefined();
    expect(told.requests.filter((request) => /error|away/.test(request))).toEqual([]);
    expect(told.requests.filter((request) => request === 'rate ok').length).toBeGreaterThan(1);
  });

  test('that refuses writes is unavailable, even if it answers PING', async () => {
    const [redis, told] = [await redisWith('--maxmemory', '1'), listener()];
    const connection = connected(redis.url, told, PATIENT_MS);
    await expect.poll(() => told.lines.length).toBe(1);
    expect(connection.state().problem).toContain('OOM');
    await redis.client.configSet('maxmemory', '0');
    await told.until(true);

    await redis.client.configSet('maxmemory', '1');
    await expect(connection.run('set', 'x', (client) => client.set('y', '1'))).rejects.toThrow('OOM');
    expect(connection.state()).toMatchObject({ state: 'unavailable' });
  });

  test('that answers one command with an error is available', async () => {
    const { redis, told, connection } = await ownStore(PATIENT_MS);
    await redis.client.lPush('x', 'of another kind');
    await expect(ask(connection)).rejects.toThrow('WRONGTYPE');
    expect(connection.state()).toEqual({ state: 'available' });
    expect(told.requests).toEqual(['get error']);
  });

  test('uses the database of its URL', async () => {
    const redis = await redisWith();
    const { connection } = await available(`${redis.url}/3`, PATIENT_MS);
    await connection.run('set', 'x', (client) => client.set('x', '3'));
    expect(await redis.client.getRange('x', 0, -1)).toBe('');
    await redis.client.select(3);
    expect(await redis.client.getRange('x', 0, -1)).toBe('3');
  });

  test('runs scripts, even after a lost connection', async () => {
    const [redis, told] = [await redisWith(), listener()];
    const connection = connected(redis.url, told, PATIENT_MS);
    const script = `return redis.call('incrby', KEYS[1], ARGV[1])`;
    const add = (): Promise<unknown> =>
      connection.run('rate', 'x', (client) => client.eval(script, { keys: ['n'], arguments: ['2'] }));
    await expect(add()).rejects.toThrow(StoreError);
    await told.until(true);
    await expect(add()).resolves.toBe(2);
    await redis.kill();
    await told.until(false);
    expect(connection.state().state).toBe('unavailable');
    await expect(add()).rejects.toThrow(StoreError);
    await redis.restart();
    await told.until(true);
    await expect(add()).resolves.toBe(2);
    await expect(connection.run('rate', 'x', (client) => client.del('n'))).resolves.toBe(1);
  });

  test('gets no commands after close', async () => {
    const { redis, connection } = await ownStore(PATIENT_MS);
    await connection.close();
    await expect(ask(connection)).rejects.toThrow(StoreError);
    await expect.poll(async () => (await redis.client.info('clients')).includes('connected_clients:1\r')).toBe(true);
  });
});

test.for(['HTTP/1.1 400 Bad Request\r\n\r\n', '-\r\n', '$999999999999\r\n', ''])(
  'reports a problem for a peer that is not a store: %j',
  async (answer) => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      if (answer === '') socket.destroy();
      else socket.write(answer);
    }).listen(0, '127.0.0.1');
    opened.push(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
    await new Promise((resolve) => server.once('listening', resolve));
    const told = listener();
    const connection = connected(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`, told);
    await expect.poll(() => told.lines.length).toBe(1);
    expect(connection.state()).toMatchObject({ state: 'unavailable', problem: expect.stringMatching(/.+/) });
  },
);
