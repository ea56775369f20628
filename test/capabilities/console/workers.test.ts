import { expect, test } from 'vitest';
import type { Batch, Past } from '../../../src/capabilities/console/messages.ts';
import { replaceOne, startWithWorkers } from '../../serve/workers/with-workers.ts';
import { startIssuer } from '../../support/issuer.ts';
import { accepts, freePort } from '../../support/ports.ts';
import { forThisTest, startBeforeAll } from '../../support/start-before.ts';
import { startUpstream } from '../../support/upstream.ts';

/** Callers at the same time, each on a connection of its own: connections go to the workers in turn. */
const CALLERS = 8;

const issuer = startBeforeAll(startIssuer);
const upstream = startBeforeAll(() => startUpstream((_request, response) => void response.end('done')));

const callersOf = (prefix: string): readonly string[] =>
  Array.from({ length: CALLERS }, (_each, index) => `${prefix}-${index}`);

async function callAs(prefix: string, url: string): Promise<void> {
  const statuses = callersOf(prefix).map(async (sub) => {
    const token = await issuer.sign({ sub, aud: 'https://gateway.bank.example/data' });
    const answer = await fetch(`${url}/data`, { headers: { authorization: `Bearer ${token}`, connection: 'close' } });
    return answer.status;
  });
  expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
}

/** Follows the stream of decisions; returns the callers in it so far. */
async function follow(adminUrl: string): Promise<readonly string[]> {
  const callers: string[] = [];
  const { body } = await fetch(`${adminUrl}/console/decisions`);
  void (async () => {
    let text = '';
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const [, batch] = /^event: decisions\ndata: (.*)$/.exec(event) ?? [];
        if (batch !== undefined) callers.push(...(JSON.parse(batch) as Batch).rows.map(({ subject = '' }) => subject));
      }
    }
  })().catch(() => {});
  return callers;
}

test('Live has the decisions of each worker once, also of one that replaced another', async () => {
  // With port 0, a new worker would choose another one after the last worker has died.
  const port = await freePort();
  const yaml = `public_url: https://gateway.bank.example
allowed_hosts: [127.0.0.1]
listen: 127.0.0.1:${port}
admin: 127.0.0.1:0
authorization_servers: { main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } } }
routes: [{ name: data, path: /data, audience: https://gateway.bank.example/data, upstream: { url: ${upstream.url} } }]
`;
  const { gateway, url, adminUrl } = await forThisTest(startWithWorkers({ yaml }));
  const past = async (): Promise<Past> => (await (await fetch(`${adminUrl}/console/past`)).json()) as Past;
  const pastCallers = async () => (await past()).rows.map(({ subject = '' }) => subject).toSorted();
  const live = await follow(adminUrl);
  await callAs('early', url);
  await expect.poll(() => live.toSorted()).toEqual(callersOf('early'));
  // A worker that is too busy to answer is left out of the past.
  await expect.poll(pastCallers).toEqual(callersOf('early'));

  // What a worker keeps ends with it: each of the two had a part.
  await replaceOne(gateway);
  expect((await past()).kept).toBeLessThan(CALLERS);
  await expect.poll(async () => (await past()).kept).toBeGreaterThan(0);
  await replaceOne(gateway);
  expect((await past()).kept).toBe(0);
  // Until one of the new workers listens, connections are refused.
  await expect.poll(() => accepts(port)).toBe(true);
  await callAs('late', url);
  await expect.poll(() => live.toSorted()).toEqual([...callersOf('early'), ...callersOf('late')]);
  await expect.poll(pastCallers).toEqual(callersOf('late'));
});
