import { once } from 'node:events';
import { connect as connectPlain } from 'node:net';
import type { ConnectionOptions, SecureVersion } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { certificateThumbprint } from '../../../../src/core/lib/digest.ts';
import { defaultPatience } from '../../../../src/core/gateway/listen/server.ts';
import { certificate, x509 } from '../../../support/certificates.ts';
import { exchangeRaw } from '../../../support/raw.ts';
import { forThisTest } from '../../../support/start-before.ts';
import { askAs, connectAs, startTlsWorld, type TlsWorld } from '../../../worlds/tls.ts';
import { until } from '../../../support/until.ts';

/** Starts a listener for this test. */
const start = (...parts: Parameters<typeof startTlsWorld>): Promise<TlsWorld> => forThisTest(startTlsWorld(...parts));
const thumbprintOf = (name: string): string => certificateThumbprint(x509(name).raw);

describe('what is spoken', () => {
  test.each<[string, ConnectionOptions, string]>([
    ['TLS 1.3', {}, 'TLSv1.3'],
    ['TLS 1.2', { maxVersion: 'TLSv1.2' }, 'TLSv1.2'],
  ])('%s', async (_title, options, protocol) => {
    const world = await start();
    const { socket, ask } = await connectAs(world, undefined, { ...options, ALPNProtocols: ['h2', 'http/1.1'] });
    expect([socket.getProtocol(), socket.alpnProtocol, socket.authorized]).toEqual([protocol, 'http/1.1', true]);
    expect(await ask()).toBe('none');
    socket.destroy();
  });

  test.each<[string, ConnectionOptions]>([
    ['TLS 1.1', { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }],
    ['HTTP/2 alone', { ALPNProtocols: ['h2'] }],
  ])('not %s', async (_title, options) => {
    const world = await start();
    await expect(connectAs(world, undefined, options)).rejects.toThrow(/alert/);
    await world.tells('failed ERR_SSL_');
  });

  test('closes a connection without TLS unanswered, and reports it once', async () => {
    const world = await start();
    expect(await exchangeRaw(world.url.replace('https', 'http'), 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')).toBe('');
    await world.tells('failed ERR_SSL_HTTP_REQUEST');
    expect(world.told.filter((line) => !line.startsWith('in force'))).toHaveLength(1);
    expect(await askAs(world)).toBe('none');
  });

  test('serves others after a client left before the handshake or broke TLS after it', async () => {
    const world = await start();
    const silent = connectPlain(world.port, '127.0.0.1');
    await once(silent, 'connect');
    silent.destroy();
    await world.tells('failed ECONNRESET');

    const plain = connectPlain(world.port, '127.0.0.1');
    const { socket, ask } = await connectAs(world, undefined, { socket: plain });
    socket.on('error', () => {});
    expect(await ask()).toBe('none');
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    plain.write('\x17\x03\x03\x00\x20no record of this connection here');
    await closed;
    expect(world.told.filter((line) => line.startsWith('malformed'))).toEqual([]);
    expect(await askAs(world)).toBe('none');
  });

  test('a handshake that never ends is ended, and is no malformed request', async () => {
    const world = await start({}, { ...defaultPatience, handshakeMs: 200 });
    expect(await exchangeRaw(world.url.replace('https', 'http'), '', 20_000)).toBe('');
    expect(world.told.slice(1)).toEqual(['failed ERR_TLS_HANDSHAKE_TIMEOUT']);
  });

  test('a connection in the middle of its handshake does not outlive the grace', async () => {
    const world = await start();
    const silent = connectPlain(world.port, '127.0.0.1').on('error', () => {});
    await once(silent, 'connect');
    const closed = once(silent, 'close');
    silent.resume();
    const before = Date.now();
    await world.close(100);
    await closed;
    expect(Date.now() - before).toBeLessThan(5_000);
  });
});

describe('a client’s certificate', () => {
  const ca = certificate('ca');

  test.each<[string | undefined, string | undefined, string, string?]>([
    [ca, 'client', 'counts'],
    [ca, 'other-client', 'does not count', 'client UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    [ca, 'self-signed', 'does not count', 'client DEPTH_ZERO_SELF_SIGNED_CERT'],
    // Issued by the right authority, but for servers: extendedKeyUsage.
    [ca, 'server', 'does not count', 'client INVALID_PURPOSE'],
    [ca, 'expired', 'does not count', 'client CERT_HAS_EXPIRED'],
    [ca, undefined, 'does not count'],
    [certificate('other-ca'), 'client', 'does not count', 'client SELF_SIGNED_CERT_IN_CHAIN'],
    ['any', 'client', 'counts'],
    ['any', 'self-signed', 'counts'],
    ['any', 'expired', 'counts'],
    ['any', undefined, 'does not count'],
    [undefined, 'client', 'does not count'],
  ])('client_ca %s, %s: %s', async (clientCa, name, verdict, told) => {
    const world = await start({ clientCa });
    expect(await askAs(world, name)).toBe(verdict === 'counts' && name !== undefined ? thumbprintOf(name) : 'none');
    expect(world.told.filter((line) => !line.startsWith('in force'))).toEqual(told === undefined ? [] : [told]);
  });

  test('each connection has its own, and keeps it', async () => {
    const world = await start({ clientCa: 'any' });
    const [one, other, none] = [
      await connectAs(world, 'client'),
      await connectAs(world, 'self-signed'),
      await connectAs(world),
    ];
    for (let i = 0; i < 2; i += 1) {
      expect(await one.ask()).toBe(thumbprintOf('client'));
      expect(await other.ask()).toBe(thumbprintOf('self-signed'));
      expect(await none.ask()).toBe('none');
    }
    for (const { socket } of [one, other, none]) socket.destroy();
  });

  test('a client cannot become another one on an open connection: no renegotiation', async () => {
    const world = await start({ clientCa: 'any' });
    const { socket } = await connectAs(world, 'client', { maxVersion: 'TLSv1.2' });
    socket.on('error', () => {});
    const answer = await new Promise<Error | null>((resolve) => {
      socket.renegotiate({}, resolve);
      socket.once('close', () => resolve(new Error('closed')));
    });
    expect(answer).not.toBeNull();
    socket.destroy();
  });

  describe.each<SecureVersion>(['TLSv1.2', 'TLSv1.3'])('of a session of %s that is resumed', (maxVersion) => {
    async function resumed(world: TlsWorld, name: string | undefined): Promise<string> {
      const first = await connectAs(world, name, { maxVersion });
      let session: Buffer | undefined;
      first.socket.on('session', (ticket: Buffer) => (session = ticket));
      await first.ask();
      await until(() => session !== undefined || maxVersion === 'TLSv1.2');
      session ??= first.socket.getSession();
      first.socket.destroy();
      const second = await connectAs(world, undefined, { maxVersion, ...(session !== undefined && { session }) });
      expect(second.socket.isSessionReused()).toBe(true);
      return await second.ask().finally(() => second.socket.destroy());
    }

    test.each([
      [ca, 'client', 'counts'],
      [ca, 'other-client', 'does not count'],
      [ca, undefined, 'does not count'],
      ['any', 'self-signed', 'counts'],
      ['any', undefined, 'does not count'],
    ])('client_ca %s, %s: %s still', async (clientCa, name, verdict) => {
      const world = await start({ clientCa });
      expect(await resumed(world, name)).toBe(verdict === 'counts' && name !== undefined ? thumbprintOf(name) : 'none');
    });
  });
});
