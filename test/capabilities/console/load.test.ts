import { readdir, readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Batch, DecisionRow } from '../../../src/capabilities/console/messages.ts';
import { hasChromium, launchChromium } from '../../clients/chromium.ts';
import { startConsoleWorld } from './world.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const built = new URL('../../../console/built/', import.meta.url);

test('the page is under 150 KiB compressed, without the editor, which is loaded when it opens', async () => {
  const names = (await readdir(built)).filter((name) => /\.(?:js|css|html|svg)$/.test(name));
  const sizes = await Promise.all(
    names.map(async (name) => [name, gzipSync(await readFile(new URL(name, built))).length] as const),
  );
  const sizeOf = (isWanted: (name: string) => boolean): number =>
    sizes.filter(([name]) => isWanted(name)).reduce((sum, [, size]) => sum + size, 0);
  const isEditor = (name: string): boolean => name.startsWith('editor-');
  expect(sizeOf((name) => !isEditor(name))).toBeLessThan(60 * 1024);
  expect(sizeOf(isEditor)).toBeGreaterThan(0);
  expect(sizeOf(isEditor)).toBeLessThan(150 * 1024);
});

describe.skipIf(!hasChromium)('a page under load', () => {
  const world = startBeforeAll(startConsoleWorld);
  const browser = startBeforeAll(() => launchChromium('--enable-precise-memory-info'));

  test('goes on through a minute of 1,000 decisions a second at once, and stays small', async () => {
    const page = await browser.newPage();
    const heap = (): Promise<number> => page.evaluate<number>('performance.memory.usedJSHeapSize');
    await world.calls();
    await page.goto(world.adminUrl);
    await page.locator('.row').first().waitFor();
    const before = await heap();
    // What the listener sends of 60,000 decisions; the page gets all of it as fast as it can read.
    await page.route('**/console/decisions', (route) =>
      route.fulfill({
        contentType: 'text/event-stream',
        body: Array.from({ length: 300 }, (_, at) => event(at)).join(''),
      }),
    );
    // Another filter opens the stream again.
    await page.getByLabel('subject').fill('caller');
    await page.getByText('/s left out: showing refusals').waitFor();
    await page.locator('.row', { hasText: 'caller-299' }).first().waitFor();
    expect(await page.locator('.row').count()).toBeLessThanOrEqual(101);
    expect((await heap()) - before).toBeLessThan(60 * 1024 * 1024);
  });
});

/** 200 decisions, of which 100 are left out. */
function event(at: number): string {
  const rows = Array.from({ length: 100 }, (_, index): Partial<DecisionRow> => {
    const id = `${at}-${index}`;
    return {
      id,
      at: Date.now() + at * 200,
      kind: 'allowed',
      called: 'get_rates',
      subject: `caller-${at}`,
      rule: 'tools.get_*',
    };
  });
  return `event: decisions\ndata: ${JSON.stringify({ rows, leftOut: 100 } satisfies Record<keyof Batch, unknown>)}\n\n`;
}
