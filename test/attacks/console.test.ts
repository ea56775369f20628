import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { startConsoleWorld } from '../capabilities/console/world.ts';
import { startBeforeAll } from '../support/start-before.ts';

const TOKEN = 'Kx7-admin-token-of-the-tests';

const world = startBeforeAll(() => startConsoleWorld({ admin: `{ listen: 127.0.0.1:0, token: "${TOKEN}" }` }));

async function watch(headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const request = get(`${world.adminUrl}/console/decisions`, { headers });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

test.each([
  '/console/decisions',
  '/console/past',
  '/console/decision?id=1',
  '/console/rates',
  '/console/approvals',
  '/console/policies',
])('a caller off loopback cannot read %s without the token', async (path) => {
  const headers = { 'x-forwarded-for': '192.0.2.1' };
  expect((await fetch(world.adminUrl + path, { headers })).status).toBe(401);
});

test('R-246: a page that reads nothing delays no request, and others go on', async () => {
  const stuck = await watch();
  stuck.pause();
  const other = await watch();
  const seen: string[] = [];
  other.setEncoding('utf8').on('data', (text: string) => seen.push(text));
  for (let round = 0; round < 5; round += 1) await world.calls();
  // A batch holds a bounded number of decisions, and says how many more there were.
  const shown = (text: string): number => text.match(/"id":/g)?.length ?? 0;
  const leftOut = (text: string): number =>
    Array.from(text.matchAll(/"leftOut":(\d+)/g), ([, count]) => Number(count)).reduce((sum, each) => sum + each, 0);
  await expect.poll(() => shown(seen.join('')) + leftOut(seen.join(''))).toBe(45);
  expect(stuck.readableFlowing).toBe(false);
  stuck.destroy();
  other.destroy();
});

test('R-246: more pages than the limit are refused', async () => {
  const pages = await Promise.all(Array.from({ length: 51 }, () => watch()));
  expect(pages.map(({ statusCode = 0 }) => statusCode).toSorted((one, other) => one - other)).toEqual([
    ...Array.from({ length: 50 }, () => 200),
    503,
  ]);
  for (const page of pages) page.destroy();
});
