import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freePort } from '../support/ports.ts';
import { isInstalled, nginxPaths, startProgram } from '../support/program.ts';
import { startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** What an upstream says so that caches keep its answer; test/core/gateway/forward/private-answers.test.ts has the table. */
const inviting: readonly Readonly<Record<string, string | readonly string[]>>[] = [
  { 'cache-control': 'public, max-age=60' },
  { 'cache-control': ['max-age=60', 'public'] },
  { expires: 'Fri, 01 Jan 2100 00:00:00 GMT' },
  { expires: 'Fri, 01 Jan 2100 00:00:00 GMT', 'cache-control': 'no-store', connection: 'cache-control' },
  { 'x-accel-expires': '60' },
  { 'cache-control': 'no-store', 'x-accel-expires': '60' },
];

let theirs: Readonly<Record<string, string | readonly string[]>> = {};
const hasNginx = isInstalled('nginx', '-v');

const world = startBeforeAll(() =>
  startAttackWorld({
    answer: (_request, response) => response.writeHead(200, { ...theirs, 'x-kept': '1' }).end(UPSTREAM_TEXT),
  }),
);

let asked = 0;

describe.skipIf(!hasNginx)('a shared cache before the gateway', () => {
  let url = '';
  startBeforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-nginx-'));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const config = `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/errors;
events {}
http {
  access_log off; ${nginxPaths(folder)}
  proxy_cache_path ${folder}/cache keys_zone=answers:1m use_temp_path=off;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${world.url};
      proxy_set_header Host gateway.test;
      proxy_cache answers;
      add_header X-Cache $upstream_cache_status always;
    }
  }
}`;
    await writeFile(join(folder, 'config'), config);
    return startProgram('nginx', ['-p', folder, '-c', join(folder, 'config'), '-e', `${folder}/errors`], port);
  });

  test.each(inviting.map((fields) => [JSON.stringify(fields), fields] as const))(
    'keeps no answer of a route that needs a token: %s',
    async (_text, fields) => {
      theirs = fields;
      const path = `/api?${(asked += 1)}`;
      const [, authorization = ''] = world.authorization.split(': ');
      const first = await fetch(url + path, { headers: { authorization } });
      expect([first.status, await first.text()]).toEqual([200, UPSTREAM_TEXT]);
      expect(first.headers.get('x-kept')).toBe('1');
      const second = await fetch(url + path);
      expect([second.status, second.headers.get('x-cache')]).toEqual([401, 'MISS']);
      await second.body?.cancel();
    },
  );

  test('stores answers of a public route as the upstream allows', async () => {
    theirs = { 'cache-control': 'public, max-age=60', 'cdn-cache-control': 'max-age=600' };
    const path = `/public?${(asked += 1)}`;
    const answers = [await fetch(url + path), await fetch(url + path)];
    expect(answers.map(({ headers }) => headers.get('x-cache'))).toEqual(['MISS', 'HIT']);
    expect(answers[1]?.headers.get('cache-control')).toBe('public, max-age=60');
    expect(answers[1]?.headers.get('cdn-cache-control')).toBe('max-age=600');
    for (const answer of answers) await answer.body?.cancel();
  });
});
