import { once } from 'node:events';
import { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import { Client } from 'undici';
import { afterAll, expect, test } from 'vitest';
import { createUpstreamConnector } from '../../../../src/core/gateway/forward/upstream-connection.ts';

/** 1: the upstream has answered and is gone. */
const isGone = new Int32Array(new SharedArrayBuffer(4));

/**
 * An upstream in its own thread: it answers and resets while this thread waits, so that the next write fails before
 * the answer can be read. It reports its port, then each header section, and answers with the text that it is sent.
 */
const upstream = new Worker(
  `const { createServer } = require('node:net');
   const { parentPort, workerData } = require('node:worker_threads');
   const server = createServer((socket) => {
     socket.on('error', () => {}).once('data', () => {
       socket.pause();
       parentPort.once('message', (answer) => socket.write(answer, () => socket.resetAndDestroy()));
       parentPort.postMessage('head');
     });
     socket.on('close', () => {
       Atomics.store(workerData, 0, 1);
       Atomics.notify(workerData, 0);
     });
   });
   server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`,
  { eval: true, workerData: isGone },
);
const port = once(upstream, 'message').then(([first]) => first as number);
afterAll(() => upstream.terminate());

test.each([413, 429])('an answer %i is kept, although the next write of the upload fails first', async (status) => {
  const client = new Client(`http://127.0.0.1:${await port}`, { connect: createUpstreamConnector(5000) });
  const upload = new Readable({ read: () => {} });
  Atomics.store(isGone, 0, 0);
  const head = once(upstream, 'message');
  const answer = client.request({ method: 'POST', path: '/', body: upload });
  upload.push('begins');
  await head;
  upstream.postMessage(`HTTP/1.1 ${status} No\r\nContent-Length: 2\r\n\r\nno`, []);
  expect(Atomics.wait(isGone, 0, 0, 5000)).not.toBe('timed-out');
  for (let i = 0; i < 3; i += 1) upload.push('goes on');
  const { statusCode, body } = await answer;
  expect([statusCode, await body.text()]).toEqual([status, 'no']);
  upload.push(null);
  await client.destroy();
});
