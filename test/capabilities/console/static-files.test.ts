import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readStaticFiles } from '../../../src/capabilities/console/static-files.ts';
import { startHttp } from '../../support/mcp-servers.ts';

const built = new URL('../../../console/built/', import.meta.url);

/** An answer as it was sent: `fetch` would decompress it. */
async function sent(name: string, accepted: string): Promise<{ encoding: string | undefined; bytes: Buffer }> {
  const files = await readStaticFiles();
  const { url, close } = await startHttp((asked, response) => files.serve(name, asked, response));
  const asking = request(url, { agent: false, headers: { 'accept-encoding': accepted } }).end();
  const [answer] = await once(asking, 'response');
  const bytes = await buffer(answer);
  await close();
  return { encoding: answer.headers['content-encoding'], bytes };
}

test('each page, script and style is sent as it was built, and compressed to those that accept it', async () => {
  const names = (await readdir(built)).filter((name) => /\.(?:js|css|html|svg)$/.test(name));
  expect(names).toContain('index.html');
  for (const name of names) {
    const bytes = await readFile(new URL(name, built));
    expect(await sent(name, 'identity')).toEqual({ encoding: undefined, bytes });
    const compressed = await sent(name, 'br, gzip');
    expect(compressed.encoding).toBe('gzip');
    expect(gunzipSync(compressed.bytes)).toEqual(bytes);
  }
});

test('a compressed file is no address of its own', async () => {
  const files = await readStaticFiles();
  expect(files.serve('index.html.gz', {} as never, {} as never)).toBe(false);
});
