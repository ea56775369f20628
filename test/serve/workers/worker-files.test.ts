import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { beforeAll, describe, expect, test } from 'vitest';
import { pem, x509 } from '../../support/certificates.ts';
import { freePort } from '../../support/ports.ts';
import { startUpstream } from '../../support/upstream.ts';
import type { Sallyport } from '../process.ts';
import { pids, withWorkers, type Workers } from './with-workers.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const patience = { timeout: 60_000 };

let route: string;
const upstream = startBeforeAll(startUpstream);
beforeAll(async () => {
  route = `routes: [{ name: open, path: /, public: true, upstream: { url: "${upstream.url}" } }]\n`;
});

/** The first worker is killed; resolves when another has been started. */
async function replaceOne(gateway: Sallyport): Promise<void> {
  const [victim = 0] = await pids(gateway);
  process.kill(victim, 'SIGKILL');
  await expect.poll(() => pids(gateway), patience).not.toContain(victim);
  await expect.poll(async () => (await pids(gateway)).length, patience).toBe(2);
}

/** What each worker answers: connections are dealt out in turn. */
async function statuses(url: string): Promise<readonly number[]> {
  const ask = async (): Promise<number> => (await fetch(url, { headers: { connection: 'close' } })).status;
  return [await ask(), await ask()].toSorted((one, other) => one - other);
}

/** The names in the certificates that new connections are shown. */
async function shown(url: string): Promise<ReadonlySet<unknown>> {
  const names = new Set<unknown>();
  for (let i = 0; i < 4; i += 1) {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    names.add(socket.getPeerCertificate().subject.CN);
    socket.destroy();
  }
  return names;
}

describe('serve --workers: files', { timeout: 300_000 }, () => {
  test('a worker that refuses an accepted configuration keeps the last good one, and reports it', async () => {
    const yaml = `public_url: http://gateway.test\nlisten: 127.0.0.1:0\nadmin: 127.0.0.1:0\n${route}`;
    const files = {
      'forgetful.mjs': `import cluster from 'node:cluster'; if (cluster.worker?.id === 1) delete process.env.LATER;`,
    };
    const env = { LATER: '/only', NODE_OPTIONS: '--import=./forgetful.mjs' };
    const forget = async ({ gateway, folder, url, adminUrl }: Workers): Promise<void> => {
      const edit = (text: string) => writeFile(join(folder, 'gateway.yaml'), text);
      const both = await pids(gateway);
      const metrics = async (): Promise<string> => (await fetch(`${adminUrl}/metrics`)).text();
      const ready = async (): Promise<unknown> => (await fetch(`${adminUrl}/readyz`)).json();

      await edit(yaml.replace('path: /,', 'path: "${env:LATER}",'));
      const [, pid] = await gateway.says(/"a worker refused the configuration[^\n]*"pid":(\d+)/);
      expect(both).toContain(Number(pid));
      const problem = expect.stringMatching(new RegExp(`^worker ${pid}: gateway\\.yaml:.*LATER`));
      expect(await ready()).toMatchObject({ status: 'ready', workers: 2, problems: [problem] });
      expect(await metrics()).toContain('sallyport_config_last_reload_successful 0');
      await expect.poll(() => statuses(url), patience).toEqual([200, 404]);
      expect(await statuses(`${url}/only`)).toEqual([200, 200]);
      expect(await pids(gateway)).toEqual(both);

      await edit(yaml.replace('path: /,', 'path: /other,'));
      await expect.poll(() => statuses(url), patience).toEqual([404, 404]);
      await expect.poll(ready, patience).not.toHaveProperty('problems');
      expect(await metrics()).toContain('sallyport_config_last_reload_successful 1');
      expect(await pids(gateway)).toEqual(both);
    };
    await withWorkers({ yaml, files, env }, forget);
  });

  test('all workers show one certificate, and a worker that starts during a renewal shows the last good one', async () => {
    const yaml = `public_url: https://gateway.test\nlisten: 127.0.0.1:0\nadmin: 127.0.0.1:0\ntls: { cert: cert, key: key }\n${route}`;
    const files = { cert: pem('server'), key: pem('server-key') };
    await withWorkers({ yaml, files }, async ({ gateway, folder, url }) => {
      const told = (name: string): number =>
        gateway.stdout().split(`"tls certificate in force","expires":"${x509(name).validToDate.toISOString()}"`)
          .length - 1;
      const install = async (part: string, text: string): Promise<void> => {
        await writeFile(join(folder, 'new'), text);
        await rename(join(folder, 'new'), join(folder, part));
      };
      await expect.poll(() => told('server'), patience).toBe(2);
      expect(await shown(url)).toEqual(new Set(['server 1']));

      await install('cert', pem('renewed'));
      await gateway.says(/tls certificate not renewed/);
      await replaceOne(gateway);
      await expect.poll(() => told('server'), patience).toBe(3);
      expect(await shown(url)).toEqual(new Set(['server 1']));

      await install('key', pem('renewed-key'));
      await expect.poll(() => told('renewed'), patience).toBe(2);
      expect(await shown(url)).toEqual(new Set(['server 2']));
      expect(gateway.stdout().match(/tls certificate not renewed/g)).toHaveLength(1);
    });
  });

  test('settings that need a restart stay until then, also in workers that start later', async () => {
    const [before, after] = [await freePort(), await freePort()];
    const yaml = `public_url: http://gateway.test\nlisten: 127.0.0.1:${before}\nadmin: 127.0.0.1:0\n${route}`;
    await withWorkers({ yaml }, async ({ gateway, folder, url }) => {
      await writeFile(join(folder, 'gateway.yaml'), yaml.replace(String(before), String(after)));
      await gateway.says(/listen changed: a restart is needed/);
      await replaceOne(gateway);
      await replaceOne(gateway);
      await expect.poll(() => statuses(url).catch(() => []), patience).toEqual([200, 200]);
    });
  });
});
