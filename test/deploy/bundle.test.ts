/**
 * What the image runs: the program and its packages in a few files.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolldown, type OutputOptions } from 'rolldown';
import { beforeAll, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import bundled from '../../deploy/bundle.config.ts';
import { sallyport } from '../serve/process.ts';
import { freePort } from '../support/ports.ts';
import { passed, tryOut } from './trial.ts';

const root = new URL('../../', import.meta.url).pathname;
let image: string;
let program: string;
beforeAll(async () => {
  image = await mkdtemp(join(tmpdir(), 'sallyport-bundle-'));
  program = join(image, 'bundle/main.js');
  const { output, ...input } = bundled as { output: OutputOptions };
  await using bundle = await rolldown({ ...input, cwd: root });
  await bundle.write({ ...output, dir: join(image, 'bundle') });
  for (const folder of ['schema', 'templates']) await cp(join(root, folder), join(image, folder), { recursive: true });
});

test('the bundle behaves like the sources', { timeout: 300_000 }, async () => {
  const place = join(image, 'place');
  await mkdir(place);
  expect(await tryOut(program, place)).toEqual(passed);
});

test('the bundle finds modules that are loaded on demand: the store, the tracer, WebSockets', async () => {
  const upstream = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(upstream, 'listening');
  upstream.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
  const { port } = upstream.address() as AddressInfo;
  const unused = `127.0.0.1:${await freePort()}`;
  const config = {
    public_url: 'http://127.0.0.1:8080',
    listen: '127.0.0.1:0',
    admin: 'off',
    shared: `redis://${unused}`,
    session_key: randomBytes(32).toString('base64'),
    telemetry: { otlp: `http://${unused}` },
    limits: { rate: { requests: 100, per: '1s' } },
    routes: [
      { name: 'echo', path: '/', public: true, upgrade: 'websocket', upstream: { url: `http://127.0.0.1:${port}` } },
    ],
  };
  const place = join(image, 'loaded');
  await mkdir(place);
  await writeFile(join(place, 'gateway.yaml'), JSON.stringify(config));
  const gateway = sallyport(['serve'], place, { program });
  const [, url = ''] = await gateway.says(/"msg":"listening","url":"([^"]+)"/);
  const client = new WebSocket(url);
  await once(client, 'open');
  client.send('over there');
  const [data] = (await once(client, 'message')) as [Buffer];
  expect(data.toString()).toBe('over there');
  client.close();
  gateway.signal('SIGTERM');
  expect(await gateway.ended).toBe(0);
  upstream.close();
});
