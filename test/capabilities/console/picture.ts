/**
 * Draws docs/images/console.png: `node test/capabilities/console/picture.ts`, then `pngquant --ext .png --force docs/images/console.png`.
 * An hour of traffic passes by a clock of its own.
 *
 * @module
 */

import { fileURLToPath } from 'node:url';
import { launchChromium } from '../../clients/chromium.ts';
import { startConsoleWorld } from './world.ts';

const HOUR_MS = 3_600_000;
const STEP_MS = 10_000;
const end = Date.now();
let now = end - HOUR_MS;

const world = await startConsoleWorld({ clock: () => Math.max(now, Date.now() - end + now) });
for (; now < end; now += STEP_MS) {
  const busy = 1 + Math.sin((now / HOUR_MS) * 9) + Math.sin((now / HOUR_MS) * 31) / 2;
  for (let rounds = 0; rounds < busy; rounds += 1) await world.calls();
}
const browser = await launchChromium();
const page = await browser.newPage({ colorScheme: 'light', viewport: { width: 1280, height: 720 } });
await page.goto(world.adminUrl);
await page.locator('.row', { hasText: 'bob' }).first().click();
await page.getByRole('heading', { name: 'Record' }).waitFor();
await page.screenshot({ path: fileURLToPath(new URL('../../../docs/images/console.png', import.meta.url)) });
await browser.close();
await world.close();
