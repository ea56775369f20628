import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, test } from 'vitest';
import { pem, x509 } from '../../support/certificates.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { patience, replaceOne, startWithWorkers } from './with-workers.ts';

const workers = startBeforeAll(() =>
  startWithWorkers({
    yaml: `public_url: https://gateway.test
listen: 127.0.0.1:0
admin: 127.0.0.1:0
tls: { cert: cert, key: key }
routes: [{ name: open, path: /, public: true, upstream: { url: "http://127.0.0.1:9" } }]
`,
    files: { cert: pem('server'), key: pem('server-key') },
  }),
);

/** The names in the certificates that new connections are shown. */
async function shown(): Promise<ReadonlySet<unknown>> {
  const names = new Set<unknown>();
  for (let i = 0; i < 4; i += 1) {
    const socket = connect({ port: Number(new URL(workers.url).port), host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    names.add(socket.getPeerCertificate().subject.CN);
    socket.destroy();
  }
  return names;
}

test('all workers show one certificate, and a worker that starts during a renewal shows the last good one', async () => {
  const { gateway, folder } = workers;
  const told = (name: string): number =>
    gateway.stdout().split(`"tls certificate in force","expires":"${x509(name).validToDate.toISOString()}"`).length - 1;
  const install = async (part: string, text: string): Promise<void> => {
    await writeFile(join(folder, 'new'), text);
    await rename(join(folder, 'new'), join(folder, part));
  };
  await expect.poll(() => told('server'), patience).toBe(2);
  expect(await shown()).toEqual(new Set(['server 1']));

  await install('cert', pem('renewed'));
  await gateway.says(/tls certificate not renewed/);
  await replaceOne(gateway);
  await expect.poll(() => told('server'), patience).toBe(3);
  expect(await shown()).toEqual(new Set(['server 1']));

  await install('key', pem('renewed-key'));
  await expect.poll(() => told('renewed'), patience).toBe(2);
  expect(await shown()).toEqual(new Set(['server 2']));
  expect(gateway.stdout().match(/tls certificate not renewed/g)).toHaveLength(1);
}, 300_000);
