import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import { afterAll, expect, test } from 'vitest';
import { listen } from '../../demo/listen.ts';
import { inFolder } from '../serve/config/folder.ts';
import { sallyport } from '../serve/process.ts';
import { startIssuer } from '../support/issuer.ts';
import { startBeforeAll } from '../support/start-before.ts';

const STREAMS = 500;
const [ROUNDS, REQUESTS] = [4, 2_000];
/** A fourth of what the requests would leave if each stayed until the next full collection. */
const MOST_MIB = 12;

const issuer = startBeforeAll(startIssuer);
const upstream = startBeforeAll(() => {
  const server = http.createServer(({ url }, response) => {
    if (url === '/api/events') response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
    else response.end('{}');
  });
  return listen(server, 0);
});
const gateway = startBeforeAll(async () => {
  const yaml = `public_url: http://gateway.test
listen: 127.0.0.1:0
admin: 127.0.0.1:0
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes: [{ name: api, path: /api, audience: a, policy: reader, upstream: { url: "${upstream.url}/api" } }]`;
  const files = { 'policies/reader.yaml': '{ scope: read }' };
  const running = await inFolder({ yaml, files }, async (folder) => sallyport(['serve'], folder));
  const [, url = '', adminUrl = ''] = await running.says(/"url":"(http:[^"]+)","admin":"(http:[^"]+)"/);
  return {
    url,
    adminUrl,
    async close() {
      running.signal('SIGTERM');
      await running.ended;
    },
  };
});
const agent = new http.Agent({ keepAlive: true });
afterAll(() => agent.destroy());

async function ask(path: string, authorization: string, by = agent): Promise<IncomingMessage> {
  const [answer] = (await once(
    http.get(`${gateway.url}${path}`, { agent: by, headers: { authorization } }),
    'response',
  )) as [IncomingMessage];
  expect(answer.statusCode).toBe(200);
  return answer;
}

/** MiB among the objects that small collections of garbage do not look at. */
async function oldMiB(): Promise<number> {
  const page = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
  const [, bytes] = /^nodejs_heap_space_size_used_bytes\{space="old"\} (\d+)$/m.exec(page) ?? [];
  return Number(bytes) / 1024 / 1024;
}

test('a request beside open streams is gone after a small collection', { timeout: 120_000 }, async () => {
  const authorization = `Bearer ${await issuer.sign({ aud: 'a', scope: 'read' })}`;
  const streams = new http.Agent();
  for (let open = 0; open < STREAMS; open += 1) (await ask('/api/events', authorization, streams)).resume();
  const requests = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 1) {
      const answer = await ask('/api/items', authorization);
      answer.resume();
      await once(answer, 'end');
    }
  };
  const round = (): Promise<unknown> => Promise.all(Array.from({ length: 20 }, () => requests(REQUESTS / 20)));
  await round();
  const before = await oldMiB();
  let most = 0;
  for (let count = 0; count < ROUNDS; count += 1) {
    await round();
    most = Math.max(most, (await oldMiB()) - before);
  }
  streams.destroy();
  expect(most).toBeLessThan(MOST_MIB);
});
