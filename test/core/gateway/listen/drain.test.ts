import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { openCertificate } from '../../../../src/serve/own-certificate.ts';
import { listen, type Listener, type Security } from '../../../../src/core/gateway/listen/server.ts';
import type { TlsObserver } from '../../../../src/core/model/events.ts';
import { tlsFiles } from '../../../support/certificates.ts';
import { head, open } from '../../../support/raw.ts';
import { until } from '../../../support/until.ts';

/** What a listener needs to speak https. */
async function security(scheme: string): Promise<Security | undefined> {
  if (scheme === 'http') return undefined;
  const observer: TlsObserver = {
    certificateInForce() {},
    certificateRefused() {},
    handshakeFailed() {},
    clientCertificateRefused() {},
  };
  return { observer, certificate: await openCertificate(tlsFiles('any'), observer, Date.now) };
}

describe.each(['http', 'https'])('%s', (scheme) => {
  let listener: Listener | undefined;
  afterEach(() => listener?.close(0));

  async function listenAt(host: string, port: number, onRequest: Parameters<typeof listen>[0]['onRequest']) {
    const onMalformed = () => ({ status: 400, requestId: 'x' });
    const address = { host, port };
    return listen({
      address,
      maxHeaderBytes: 16_384,
      idleMs: 75_000,
      onRequest,
      onMalformed,
      security: await security(scheme),
    });
  }

  /** Listens; `/slow` answers when told, `/stream` never ends, everything else at once. */
  async function start(): Promise<{ url: string; isWaiting: () => boolean; answer: () => unknown }> {
    const waiting: ServerResponse[] = [];
    listener = await listenAt('127.0.0.1', 0, ({ url }, response, first) => {
      if (first !== undefined) response.socket?.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      else if (url === '/stream') response.write('begun');
      else if (url === '/slow') waiting.push(response);
      else response.end('quick');
    });
    return { url: listener.url, isWaiting: () => waiting.length > 0, answer: () => waiting.pop()?.end('slow') };
  }

  async function isRefused(url: string): Promise<boolean> {
    const connection = await open(url, head('GET /')).catch(() => undefined);
    return connection === undefined;
  }

  describe('close', () => {
    test('accepts no more, and waits for a running request', async () => {
      const { url, isWaiting, answer } = await start();
      const running = await open(url, head('GET /slow'));
      const idle = await open(url, head('GET /'));
      await idle.has('quick');
      await until(isWaiting);
      let closed = false;
      const closing = listener?.close(5_000).then(() => (closed = true));
      await until(() => isRefused(url));
      await until(() => idle.ended() !== undefined, 'the idle connection to end');
      expect(closed).toBe(false);
      answer();
      await running.has('slow');
      await closing;
      await until(() => running.ended() === 'end');
    });

    test('R-171: ends what is left after the grace: streams, sockets, the slow and the malformed', async () => {
      const { url } = await start();
      const stream = await open(url, head('GET /stream'));
      await stream.has('begun');
      const upgraded = await open(url, head('GET /socket', 'Connection: Upgrade', 'Upgrade: websocket'));
      await upgraded.has('101');
      const silent = await open(url, 'GET / HT');
      const garbage = await open(url, 'GARBAGE\r\n\r\n');
      await garbage.has('400');
      const before = Date.now();
      await listener?.close(200);
      expect(Date.now() - before).toBeGreaterThanOrEqual(190);
      for (const { ended } of [stream, upgraded, silent, garbage]) await until(() => ended() !== undefined);
      expect(stream.received()).not.toContain('\r\n0\r\n\r\n');
    });

    test('at once where nothing runs', async () => {
      await start();
      // Longer than a test may take.
      expect(await listener?.close(600_000)).toBeUndefined();
    });

    test('an address that is taken', async () => {
      const { url } = await start();
      const taken = listenAt('127.0.0.1', Number(new URL(url).port), () => {});
      await expect(taken).rejects.toMatchObject({ code: 'EADDRINUSE' });
    });

    test('IPv6 has its brackets', async () => {
      listener = await listenAt('::1', 0, () => {});
      expect(listener.url).toMatch(new RegExp(`^${scheme}://\\[::1\\]:\\d+$`));
    });
  });
});
