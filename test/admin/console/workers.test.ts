import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Past } from '../../../src/admin/console/messages.ts';
import { hasChromium, launchChromium } from '../../clients/chromium.ts';
import { replaceOne, startWithWorkers } from '../../serve/workers/with-workers.ts';
import { startIssuer } from '../../support/issuer.ts';
import { accepts, freePort } from '../../support/ports.ts';
import { startUpstream } from '../../support/upstream.ts';
import { startBeforeAll } from '../../support/start-before.ts';

/** Callers at the same time, each on a connection of its own: connections go to the workers in turn. */
const CALLERS = 8;

describe.skipIf(!hasChromium)('Live of several workers, in a browser', () => {
  const issuer = startBeforeAll(startIssuer);
  const upstream = startBeforeAll(() => startUpstream((_request, response) => void response.end('done')));
  const browser = startBeforeAll(launchChromium);

  const yamlOf = (port: number): string => `public_url: https://gateway.bank.example
allowed_hosts: [127.0.0.1]
listen: 127.0.0.1:${port}
admin: 127.0.0.1:0
authorization_servers: { main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } } }
routes: [{ name: data, path: /data, audience: https://gateway.bank.example/data, upstream: { url: ${upstream.url} } }]
`;

  async function callAs(prefix: string, url: string): Promise<void> {
    const statuses = Array.from({ length: CALLERS }, async (_, index) => {
      const token = await issuer.sign({ sub: `${prefix}-${index}`, aud: 'https://gateway.bank.example/data' });
      const answer = await fetch(`${url}/data`, { headers: { authorization: `Bearer ${token}`, connection: 'close' } });
      return answer.status;
    });
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
  }

  /** Waits for the rows of all callers; each must be there once. */
  async function eachOnce(page: Page, prefix: string): Promise<void> {
    const rows = page.locator('.row', { hasText: `${prefix}-` });
    for (let index = 0; index < CALLERS; index += 1) await rows.getByText(`${prefix}-${index}`).waitFor();
    expect(await rows.count()).toBe(CALLERS);
  }

  /** The same in a page that opens now. A worker that is too busy to answer is left out of the past. */
  async function inThePast(page: Page, prefix: string): Promise<void> {
    await vi.waitFor(
      async () => {
        await page.reload();
        await page.locator('.row').first().waitFor();
        expect(await page.locator('.row', { hasText: `${prefix}-` }).count()).toBe(CALLERS);
      },
      { timeout: 60_000 },
    );
  }

  test('has the decisions of each worker once, also of one that replaced another', async () => {
    // With port 0, a new worker would choose another one after the last worker has died.
    const port = await freePort();
    const running = await startWithWorkers({ yaml: yamlOf(port) });
    onTestFinished(() => running.close());
    const { gateway, url, adminUrl } = running;
    const kept = async (): Promise<number> => ((await (await fetch(`${adminUrl}/console/past`)).json()) as Past).kept;
    const page = await browser.newPage();
    await page.goto(adminUrl);
    await page.getByText('No decision yet').waitFor();

    await callAs('early', url);
    await eachOnce(page, 'early');
    await inThePast(page, 'early');

    // What a worker keeps ends with it: each of the two had a part.
    await replaceOne(gateway);
    expect(await kept()).toBeLessThan(CALLERS);
    await expect.poll(kept).toBeGreaterThan(0);
    await replaceOne(gateway);
    expect(await kept()).toBe(0);
    // Until one of the new workers listens, connections are refused.
    await expect.poll(() => accepts(port)).toBe(true);
    await callAs('late', url);
    await eachOnce(page, 'late');
    await eachOnce(page, 'early');
    await inThePast(page, 'late');
    expect(await page.locator('.row', { hasText: 'early-' }).count()).toBe(0);

    await page.close();
  });
});
