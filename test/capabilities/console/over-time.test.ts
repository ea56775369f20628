import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { DecisionDetail, Past } from '../../../src/capabilities/console/messages.ts';
import { hasChromium } from '../../clients/chromium.ts';
import { findings } from './accessibility.ts';
import { browserPage } from './browser-page.ts';
import { startConsoleWorld } from './world.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const policy = `scope: read
tools:
  approve: {}
  read_secret: {}
  pay:
    claims: { role: trader }
    never_after: { tool: read_secret, within: 1d }
    after: { tool: approve, within: 1h, same: [/claim] }
    quota: [{ sum: /amount, at_most: 5000, per: 1h }]
`;

const world = startBeforeAll(startConsoleWorld);
beforeAll(async () => {
  await writeFile(join(world.folder, 'policies', 'demo-tools.yaml'), policy);
  await writeFile(join(world.folder, 'policies', 'demo-tools.test.yaml'), '[]\n');
  await world.reload();
});

const trader = (sub: string) => ({ sub, scope: 'read', role: 'trader' });

/** The newest decision on a caller. */
async function decisionOn(subject: string): Promise<DecisionDetail> {
  const { rows } = await world.read<Past>(`/console/past?subject=${subject}`);
  return world.read<DecisionDetail>(`/console/decision?id=${rows[0]?.id}`);
}

const outcomesOf = ({ conditions }: DecisionDetail) =>
  conditions.filter(({ kind }) => kind === 'history').map(({ outcome, found }) => [outcome, found]);

describe('R-279: a decision under rules over time says what it tells of them', () => {
  const met = ['holds', 'not kept; this rule was met'];
  const first = ['unknown', 'not kept; another rule over time refused the call first'];
  const other = ['unknown', 'not kept; the call was refused for another reason'];

  test('of a call that passed: it met them', async () => {
    await world.call(trader('ann'), 'approve', { claim: 7 });
    expect(await world.call(trader('ann'), 'pay', { claim: 7, amount: 5000 })).toBe(200);
    const detail = await decisionOn('ann');
    expect(outcomesOf(detail)).toEqual([met, met, met]);
    expect(detail.test).toContain('# Earlier calls are not recorded: add those that matter to given, as history.');
  });

  test('of a call that one of them refused: which, what it found, and that the others before it were met', async () => {
    expect(await world.call(trader('ben'), 'pay', { claim: 7, amount: 1 })).toBe(403);
    const missing = await decisionOn('ben');
    expect(outcomesOf(missing)).toEqual([met, ['fails', 'none'], first]);
    expect(missing.remedies).toEqual(['an answered call of approve within 1h with the same /claim']);

    await world.call(trader('ben'), 'approve', { claim: 7 });
    await world.call(trader('ben'), 'pay', { claim: 7, amount: 5000 });
    expect(await world.call(trader('ben'), 'pay', { claim: 7, amount: 1 })).toBe(429);
    expect(outcomesOf(await decisionOn('ben'))).toEqual([met, met, ['fails', 'more with this call']]);

    await world.call(trader('ben'), 'read_secret');
    expect(await world.call(trader('ben'), 'pay', { claim: 7, amount: 1 })).toBe(403);
    expect(outcomesOf(await decisionOn('ben'))).toEqual([['fails', 'one'], first, first]);
  });

  test('of a call that was refused for something else: nothing', async () => {
    expect(await world.call({ sub: 'cid', scope: 'read' }, 'pay', { claim: 7, amount: 1 })).toBe(403);
    expect(outcomesOf(await decisionOn('cid'))).toEqual([other, other, other]);
  });
});

describe.skipIf(!hasChromium)('rules over time in a browser', () => {
  const page = browserPage();

  test('R-278: the playground decides a call after the calls that the reader describes', async () => {
    await page.goto(`${world.adminUrl}/policies?policy=demo-tools`);
    await page.getByLabel('scope').fill('read');
    await page.getByLabel('claims').fill('{"role":"trader"}');
    await page.getByLabel('name', { exact: true }).fill('pay');
    await page.getByLabel('arguments').fill('{"claim":7,"amount":3000}');
    const answer = page.locator('.answer');
    await answer.getByText('allowed, if the policy accepts the earlier calls').waitFor();
    const before = page.getByLabel('calls before');
    await before.fill('[]');
    await answer.getByText('→ an answered call of approve within 1h with the same /claim').waitFor();
    expect(await findings(page)).toEqual([]);
    await before.fill(
      '- { tool: approve, arguments: { claim: 7 }, ago: 30m }\n- { tool: pay, arguments: { claim: 7, amount: 2500 }, ago: 20m }',
    );
    await answer.getByText('2500 used by 1 call, 2500 left; room for this call in 2400 s').waitFor();
    await before.fill('- { tool: approve, ago: soon }');
    await page.getByText('history:1:25: [0].ago:').waitFor();
  });

  test('R-279: the page of a decision shows which rule over time refused it', async () => {
    expect(await world.call(trader('dan'), 'pay', { claim: 7, amount: 1 })).toBe(403);
    const { id } = await decisionOn('dan');
    await page.goto(`${world.adminUrl}/?decision=${id}`);
    // Below its entry, in line with the entry's other conditions.
    const decisive = page.locator('.condition .condition.decisive');
    const other = page.locator('.condition .condition:not(.decisive) .rule').first();
    expect((await decisive.locator('.rule').boundingBox())?.x).toBe((await other.boundingBox())?.x);
    await decisive.getByText('tools.pay.after').waitFor();
    await decisive.getByText('none', { exact: true }).waitFor();
    await page.getByText('not kept; another rule over time refused the call first').waitFor();
    expect(await findings(page)).toEqual([]);
  });
});
