import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { inFolder } from '../../config/folder.ts';
import { outcome } from '../process.ts';
import { pids, withWorkers } from './with-workers.ts';

let upstream: Server;
let yaml: string;

beforeAll(async () => {
  upstream = createServer((request, response) => {
    if (request.url !== '/stream') {
      response.end('hello');
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: begin\n\n');
    const timer = setInterval(() => response.write('data: more\n\n'), 20);
    response.once('close', () => clearInterval(timer));
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  yaml = `
public_url: http://gateway.test
listen: 127.0.0.1:0
admin: 127.0.0.1:0
routes:
  - { name: open, path: /, public: true, upstream: { url: "${url}" } }
`;
});
afterAll(() => {
  upstream.closeAllConnections();
  upstream.close();
});

/** A stream on a connection of its own. */
async function stream(url: string): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const { body } = await fetch(`${url}/stream`);
  const reader = body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  await reader.read();
  return reader;
}

describe('serve --workers', { timeout: 300_000 }, () => {
  test('R-172: all workers share one listener and one admin listener', async () => {
    await withWorkers({ yaml }, async ({ url, adminUrl }) => {
      for (let i = 0; i < 6; i += 1)
        expect(await (await fetch(url, { headers: { connection: 'close' } })).text()).toBe('hello');
      const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
      expect(metrics).toContain('sallyport_decisions_total{route="open",decision="allow",reason="none"} 6');
      expect(metrics).toContain('sallyport_config_last_reload_successful 1');
      expect(metrics).toMatch(/sallyport_config_info\{hash="[0-9a-f]{64}"\} 1\n/);
      expect(await (await fetch(`${adminUrl}/readyz`)).json()).toMatchObject({ status: 'ready', workers: 2 });
    });
  });

  test('R-172: replaces a worker that crashes, and the streams of the others continue', async () => {
    await withWorkers({ yaml }, async ({ gateway, url, adminUrl }) => {
      const streams = await Promise.all([stream(url), stream(url)]);
      const [victim] = await pids(gateway);
      process.kill(victim ?? 0, 'SIGKILL');
      await gateway.says(/a worker ended and is replaced/);
      const after = await Promise.allSettled(streams.map(readOn));
      expect(after.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      await expect.poll(async () => await (await fetch(`${adminUrl}/readyz`)).json()).toMatchObject({ workers: 2 });
      for (let i = 0; i < 4; i += 1) expect((await fetch(url, { headers: { connection: 'close' } })).status).toBe(200);
      await Promise.all(streams.map((each) => each.cancel().catch(() => undefined)));
    });
  });

  test('an edit is in force in all workers, and a refused one in none, also in workers that start later', async () => {
    await withWorkers({ yaml }, async ({ gateway, folder, url, adminUrl }) => {
      const file = join(folder, 'gateway.yaml');
      const edit = async (text: string, said: RegExp): Promise<void> => {
        await writeFile(file, text);
        await gateway.says(said);
      };
      await edit(yaml.replace('path: /,', 'path: /only,'), /configuration reloaded/);
      const everywhere = async (): Promise<void> => {
        for (let i = 0; i < 4; i += 1) {
          expect((await fetch(url, { headers: { connection: 'close' } })).status).toBe(404);
          expect((await fetch(`${url}/only`, { headers: { connection: 'close' } })).status).toBe(200);
        }
      };
      await vi.waitFor(everywhere, { timeout: 20_000 });
      await edit('junk: 1\n', /configuration refused/);
      await everywhere();
      expect(await (await fetch(`${adminUrl}/metrics`)).text()).toContain('sallyport_config_last_reload_successful 0');
      const [victim] = await pids(gateway);
      process.kill(victim ?? 0, 'SIGKILL');
      await gateway.says(/a worker ended and is replaced/);
      await expect.poll(async () => (await pids(gateway)).length).toBe(2);
      await everywhere();
    });
  });

  test('a worker that crashes while it is asked for its state affects no other', async () => {
    await withWorkers({ yaml }, async ({ gateway, url, adminUrl }) => {
      const over = new AbortController();
      // So that one is asked in the very moment between its end and the news of it.
      const asking = Array.from({ length: 8 }, async () => {
        while (!over.signal.aborted) await fetch(`${adminUrl}/metrics`, { signal: over.signal }).catch(() => undefined);
      });
      for (let round = 0; round < 4; round += 1) {
        await expect.poll(async () => (await pids(gateway)).length).toBe(2);
        // Never the first one, which serves on.
        const [, victim] = await pids(gateway);
        process.kill(victim ?? 0, 'SIGKILL');
        await expect.poll(() => pids(gateway)).not.toContain(victim);
      }
      over.abort();
      await Promise.all(asking);
      expect((await fetch(url, { headers: { connection: 'close' } })).status).toBe(200);
    });
  });

  test('reports a port in use in one line, and leaves no process behind', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    const taken = `127.0.0.1:${(squatter.address() as AddressInfo).port}`;
    await inFolder({ yaml: yaml.replace('listen: 127.0.0.1:0', `listen: ${taken}`) }, async (folder) => {
      const { code, stderr } = await outcome(['serve', '--workers', '2'], folder);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `${taken} is in use: stop the process that listens there, or change listen or admin in the configuration\n`,
      });
    });
    squatter.close();
  });
});

/** Reads until something new has come. */
async function readOn(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  for (let i = 0; i < 5; i += 1) {
    const { done } = await reader.read();
    if (done) throw new Error('ended');
  }
}
