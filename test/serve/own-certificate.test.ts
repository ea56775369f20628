import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { certificateThumbprint } from '../../src/core/lib/digest.ts';
import { pem, x509 } from '../support/certificates.ts';
import { forThisTest } from '../support/start-before.ts';
import { askAs, connectAs, startTlsWorld, type TlsWorld } from '../worlds/tls.ts';
import { until } from '../support/until.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-tls-'));
});
const at = (name: string): string => join(folder, name);
const expiryOf = (name: string): string => x509(name).validToDate.toISOString();

/** Writes a certificate of the tests, by rename, under the names that are watched. */
async function install(name: string, parts: readonly ('cert' | 'key')[] = ['cert', 'key']): Promise<void> {
  for (const part of parts) {
    await writeFile(at(`${part}.new`), pem(part === 'cert' ? name : `${name}-key`));
    await rename(at(`${part}.new`), at(part));
  }
}

/** Serves by the files in the folder. */
const start = (clientCa?: string): Promise<TlsWorld> =>
  forThisTest(startTlsWorld({ cert: at('cert'), key: at('key'), clientCa }));

/** The name in the certificate that a new connection is shown. */
async function shownBy(served: TlsWorld): Promise<string> {
  const { socket } = await connectAs(served);
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

/** What new connections are shown once the certificate of `name` is in force. */
async function shownWith(served: TlsWorld, name: 'server' | 'renewed'): Promise<string> {
  await served.tells(`in force ${expiryOf(name)}`);
  return shownBy(served);
}

describe('a renewed certificate is presented from the next handshake on', () => {
  test('by rename, while an open connection lives on', async () => {
    await install('server');
    const served = await start();
    const open = await connectAs(served);
    expect(served.told).toEqual([`in force ${expiryOf('server')}`]);
    await install('renewed');
    expect(await shownWith(served, 'renewed')).toBe('server 2');
    expect(await open.ask()).toBe('none');
    expect(open.socket.getPeerCertificate().subject.CN).toBe('server 1');
    open.socket.destroy();
  });

  test('written in place', async () => {
    await install('server');
    const served = await start();
    await writeFile(at('cert'), pem('renewed'));
    await writeFile(at('key'), pem('renewed-key'));
    expect(await shownWith(served, 'renewed')).toBe('server 2');
  });

  test('as Kubernetes turns a secret, twice', async () => {
    async function mount(version: number, name: string): Promise<void> {
      await mkdir(at(`..${version}`));
      await writeFile(at(`..${version}/cert`), pem(name));
      await writeFile(at(`..${version}/key`), pem(`${name}-key`));
      await symlink(`..${version}`, at('..data_tmp'));
      await rename(at('..data_tmp'), at('..data'));
    }
    await mount(1, 'server');
    await symlink('..data/cert', at('cert'));
    await symlink('..data/key', at('key'));
    const served = await start();
    await mount(2, 'renewed');
    expect(await shownWith(served, 'renewed')).toBe('server 2');
    await mount(3, 'server');
    expect(await shownWith(served, 'server')).toBe('server 1');
  });
});

describe('unusable files change nothing, and are reported', () => {
  test.each<[string, () => Promise<unknown>, RegExp]>([
    ['another certificate’s key', () => install('renewed', ['key']), /key is not the key of the certificate/],
    ['an expired certificate', () => install('expired'), /cert expired at 2020-01-02T00:00:00.000Z/],
    ['a damaged one', () => writeFile(at('cert'), pem('server').slice(0, 200)), /cert holds no PEM certificate/],
    ['none', () => rm(at('cert')), /cert does not exist/],
  ])('%s', async (_title, change, detail) => {
    await install('server');
    const served = await start();
    await change();
    await served.tells('refused ');
    expect(served.told.at(-1)).toMatch(detail);
    expect(served.told.join()).not.toMatch(/BEGIN|[A-Za-z0-9+/]{40}/);
    expect(await shownBy(served)).toBe('server 1');
    await install('renewed');
    expect(await shownWith(served, 'renewed')).toBe('server 2');
  });

  test('fails at start with unusable files', async () => {
    await install('server');
    await install('renewed', ['key']);
    await expect(start()).rejects.toThrow(`${at('key')} is not the key of the certificate`);
  });
});

describe('the authorities of clients', () => {
  test('may be several in one file', async () => {
    await install('server');
    await writeFile(at('ca'), pem('other-ca') + pem('ca'));
    const served = await start(at('ca'));
    for (const name of ['client', 'other-client'])
      expect(await askAs(served, name)).toBe(certificateThumbprint(x509(name).raw));
  });

  test('are read again too, and a session that began under others is not resumed', async () => {
    await install('server');
    await writeFile(at('ca'), pem('ca'));
    const served = await start(at('ca'));
    const first = await connectAs(served, 'client');
    let session: Buffer | undefined;
    first.socket.on('session', (ticket: Buffer) => (session = ticket));
    expect(await first.ask()).toBe(certificateThumbprint(x509('client').raw));
    await writeFile(at('ca'), pem('other-ca'));
    await until(() => served.told.length === 2);
    if (session === undefined) throw new Error('no session');
    const second = await connectAs(served, 'client', { session });
    expect(second.socket.isSessionReused()).toBe(false);
    expect(await second.ask()).toBe('none');
    for (const { socket } of [first, second]) socket.destroy();
  });
});
