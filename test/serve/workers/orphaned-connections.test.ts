import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeOrphanedConnections } from '../../../src/serve/workers/primary.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  const exec = join(folder, 'worker.mjs');
  await writeFile(exec, `import { createServer } from 'node:net';\ncreateServer().listen(0, '127.0.0.1');\n`);
  cluster.setupPrimary({ exec, args: [], execArgv: [], silent: true });
});
afterAll(() => rm(folder, { recursive: true }));

/** Resolves with the message that hands the next connection over to `worker`. Must come before what patches `send`. */
function handedOver({ process: child }: Worker): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const send = child.send.bind(child) as (...all: readonly unknown[]) => boolean;
  child.send = (message: unknown, handle?: unknown, ...rest: readonly unknown[]): boolean => {
    if (typeof handle === 'object' && handle !== null) resolve(message);
    return send(message, handle, ...rest);
  };
  return promise;
}

// Node documents neither: a release that hands connections over in another way must fail here, not in service.
test('closes the connection that was on its way to a worker when the worker died', async () => {
  const worker = cluster.fork();
  const message = handedOver(worker);
  closeOrphanedConnections(worker);
  const [{ port }] = (await once(worker, 'listening')) as [AddressInfo];
  worker.process.kill('SIGSTOP');
  const client = connect(port, '127.0.0.1').on('error', () => {});
  const closed = once(client.resume(), 'close');
  expect(await message).toMatchObject({ act: 'newconn', key: expect.any(String) as string });
  worker.process.kill('SIGKILL');
  await closed;
  expect(client.bytesRead).toBe(0);
});
