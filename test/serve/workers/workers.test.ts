import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { inFolder } from '../../config/folder.ts';
import { outcome as outcomeHere } from '../../cli/run.ts';
import { outcome, sallyport, type Sallyport } from '../process.ts';

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

/** Closed connections go to the workers in turn. */
const get = (url: string): Promise<Response> => fetch(url, { headers: { connection: 'close' } });

/** A stream on a connection of its own. */
async function stream(url: string): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const { body } = await fetch(`${url}/stream`);
  const reader = body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  await reader.read();
  return reader;
}

const pids = async (parent: number): Promise<readonly number[]> => {
  const text = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
};

describe('serve --workers', { timeout: 300_000 }, () => {
  let gateway: Sallyport;
  let folder: string;
  let url: string;
  let adminUrl: string;
  beforeAll(async () => {
    folder = await inFolder({ yaml }, (made) => Promise.resolve(made));
    gateway = sallyport(['serve', '--workers', '2'], folder);
    [, url = '', adminUrl = ''] = await gateway.says(/"url":"(http:[^"]+)","admin":"(http:[^"]+)".*"workers":2/);
  });
  afterAll(async () => {
    gateway.signal('SIGTERM');
    if ((await gateway.ended) !== 0) throw new Error(gateway.stderr());
  });

  /** Ends the process of a worker, and waits until another one has taken its place. */
  async function replace(which: 0 | 1): Promise<void> {
    await expect.poll(async () => (await pids(gateway.pid)).length).toBe(2);
    const victim = (await pids(gateway.pid))[which] ?? 0;
    process.kill(victim, 'SIGKILL');
    await gateway.says(new RegExp(`"a worker ended and is replaced","pid":${victim}\\b`));
    await expect.poll(async () => (await pids(gateway.pid)).length).toBe(2);
  }

  test('R-172: all workers share one listener and one admin listener', async () => {
    const metrics = async (): Promise<string> => (await fetch(`${adminUrl}/metrics`)).text();
    const allowed = async (): Promise<number> =>
      Number(
        /sallyport_decisions_total\{route="open",decision="allow",reason="none"\} (\d+)/.exec(await metrics())?.[1] ??
          0,
      );
    const before = await allowed();
    for (let i = 0; i < 6; i += 1) expect(await (await get(url)).text()).toBe('hello');
    expect(await allowed()).toBe(before + 6);
    expect(await metrics()).toMatch(/sallyport_config_info\{hash="[0-9a-f]{64}"\} 1\n/);
    expect(await (await fetch(`${adminUrl}/readyz`)).json()).toMatchObject({ status: 'ready', workers: 2 });
  });

  test('R-172: replaces a worker that crashes, and the streams of the others continue', async () => {
    const streams = await Promise.all([stream(url), stream(url)]);
    await replace(0);
    const after = await Promise.allSettled(streams.map(readOn));
    expect(after.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    await expect.poll(async () => await (await fetch(`${adminUrl}/readyz`)).json()).toMatchObject({ workers: 2 });
    for (let i = 0; i < 4; i += 1) expect((await get(url)).status).toBe(200);
    await Promise.all(streams.map((each) => each.cancel().catch(() => undefined)));
  });

  test('an edit is in force in all workers, and a refused one in none, also in workers that start later', async () => {
    const edit = (text: string): Promise<void> => writeFile(join(folder, 'gateway.yaml'), text);
    const lastReload = async (): Promise<string | undefined> =>
      /sallyport_config_last_reload_successful (\d)/.exec(await (await fetch(`${adminUrl}/metrics`)).text())?.[1];
    const everywhere = async (): Promise<void> => {
      for (let i = 0; i < 4; i += 1) {
        expect((await get(url)).status).toBe(404);
        expect((await get(`${url}/only`)).status).toBe(200);
      }
    };
    await edit(yaml.replace('path: /,', 'path: /only,'));
    await vi.waitFor(everywhere, { timeout: 20_000 });
    expect(await lastReload()).toBe('1');
    await edit('junk: 1\n');
    await gateway.says(/configuration refused/);
    await everywhere();
    expect(await lastReload()).toBe('0');
    await replace(0);
    await everywhere();
    await edit(yaml);
    await vi.waitFor(
      async () => {
        for (let i = 0; i < 4; i += 1) expect((await get(url)).status).toBe(200);
      },
      { timeout: 20_000 },
    );
  });

  test('a worker that crashes while it is asked for its state affects no other', async () => {
    const over = new AbortController();
    // So that one is asked in the very moment between its end and the news of it.
    const asking = Array.from({ length: 8 }, async () => {
      while (!over.signal.aborted) await fetch(`${adminUrl}/metrics`, { signal: over.signal }).catch(() => undefined);
    });
    // Never the first one, which serves on.
    for (let round = 0; round < 4; round += 1) await replace(1);
    over.abort();
    await Promise.all(asking);
    expect((await get(url)).status).toBe(200);
  });

  test('reports a port in use in one line, and leaves no process behind', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    const taken = `127.0.0.1:${(squatter.address() as AddressInfo).port}`;
    await inFolder({ yaml: yaml.replace('listen: 127.0.0.1:0', `listen: ${taken}`) }, async (own) => {
      const { code, stderr } = await outcome(['serve', '--workers', '2'], own);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `${taken} is in use: stop the process that listens there, or change listen or admin in the configuration\n`,
      });
    });
    squatter.close();
  });
});

test.each(['0', '-1', 'many', '1.5'])('--workers %s is wrong usage', async (count) => {
  expect(await outcomeHere(['serve', `--workers=${count}`])).toMatchObject({ code: 2, stdout: '' });
});

/** Reads until something new has come. */
async function readOn(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  for (let i = 0; i < 5; i += 1) {
    const { done } = await reader.read();
    if (done) throw new Error('ended');
  }
}
