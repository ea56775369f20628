import { once } from 'node:events';
import { mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { start } from '../../src/serve/start.ts';

test('a gateway that cannot listen leaves no log file open', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const log = join(folder, 'decisions.jsonl');
  await writeFile(
    join(folder, 'gateway.yaml'),
    `public_url: http://gateway.test
listen: 127.0.0.1:${port}
admin: off
log: { file: ${log} }
routes: [{ name: open, path: /, public: true, upstream: { url: "http://127.0.0.1:9" } }]
`,
  );
  const config = await loadConfig(join(folder, 'gateway.yaml'), {});
  await expect(start(config)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(await openFiles()).not.toContain(log);
  taken.close();
  await rm(folder, { recursive: true });
});

/** The paths of the files that this process has open. */
async function openFiles(): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  return Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
}
