import { Agent, request } from 'node:http';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inFolder } from './config/folder.ts';
import { startIssuer } from '../support/issuer.ts';
import { forThisTest } from '../support/start-before.ts';
import { keepSecret } from '../support/secrecy.ts';
import { startUpstream } from '../support/upstream.ts';
import { sallyport } from './process.ts';

/** The part of a token that is nowhere else. */
const mark = (token: string): string => token.slice(-60);

/** The status that `token` gets. */
async function status(url: string, token: string, agent: Agent): Promise<number | undefined> {
  const call = request(`${url}/`, { agent, headers: { authorization: `Bearer ${token}` } }).end();
  const [response] = (await once(call, 'response')) as [{ statusCode?: number; resume(): unknown }];
  await once(response.resume() as NodeJS.EventEmitter, 'end');
  return response.statusCode;
}

test('memory holds a token only while its connection is open', async () => {
  const [issuer, upstream] = [await forThisTest(startIssuer()), await forThisTest(startUpstream())];
  const yaml = `public_url: http://gateway.test
listen: 127.0.0.1:0
admin: off
authorization_servers:
  main:
    issuer: ${issuer.url}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: a-secret-of-the-test }
routes:
  - { name: api, path: /, audience: api, upstream: { url: "${upstream.url}" } }
`;
  const folder = await inFolder({ yaml }, async (path) => path);
  const gateway = sallyport(['serve'], folder, { env: { NODE_OPTIONS: '--heapsnapshot-signal=SIGUSR2' } });
  const [, url = ''] = await gateway.says(/"url":"([^"]+)"/);
  const [kept, closed] = [new Agent({ keepAlive: true }), new Agent()];
  const opaque = (name: string): string => `${name}-${'opaque-token-'.repeat(6)}${name}`;
  const jwt = (claims: object): Promise<string> => issuer.sign({ aud: 'api', ...claims });
  const tokens = {
    known: await jwt({ sub: 'who-is-remembered' }),
    refused: await jwt({ aud: 'another' }),
    explained: opaque('explained'),
    unknown: opaque('unknown'),
  };
  issuer.introspection.set(tokens.explained, { active: true, sub: 'alice', aud: 'api' });
  const open = await jwt({ sub: 'who-is-here' });
  for (const token of [open, ...Object.values(tokens)]) keepSecret(token);

  expect(await status(url, open, kept)).toBe(200);
  const statuses: (number | undefined)[] = [];
  for (const token of Object.values(tokens)) statuses.push(await status(url, token, closed));
  expect(statuses).toEqual([200, 401, 200, 401]);
  // Something else as the newest of everything.
  expect(await status(url, 'other', closed)).toBe(401);

  process.kill(gateway.pid, 'SIGUSR2');
  // The snapshot is written in one step, after a collection of garbage: who is answered comes after it.
  await expect.poll(() => readdir(folder)).toContainEqual(expect.stringMatching(/\.heapsnapshot$/));
  await status(url, 'other', closed);
  const file = (await readdir(folder)).find((name) => name.endsWith('.heapsnapshot')) ?? '';
  const memory = await readFile(join(folder, file), 'latin1');

  expect(memory).toContain('who-is-remembered');
  expect(memory.includes(mark(open))).toBe(true);
  const remembered = Object.entries(tokens).filter(([, token]) => memory.includes(mark(token)));
  expect(remembered.map(([name]) => name)).toEqual([]);

  kept.destroy();
  gateway.signal('SIGTERM');
  expect(await gateway.ended).toBe(0);
});
