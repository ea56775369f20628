/** Gateways hear of every revoked token, also of one that was revoked while the store did not answer. */
import { expect, test } from 'vitest';
import { RevokedTokenAnnouncements } from '../../src/front-door/announcements.ts';
import { until } from '../support/until.ts';

test('R-268: a message that the store did not take is sent again, with those that came meanwhile', async () => {
  const sent: (readonly string[])[] = [];
  let isAway = true;
  const announcements = new RevokedTokenAnnouncements(async (digests) => {
    if (isAway) throw new Error('the store is away');
    sent.push(digests);
  }, 1);
  await announcements.announce(['a']);
  await announcements.announce(['b']);
  isAway = false;
  await until(() => sent.length > 0);
  await announcements.announce(['c']);
  expect(sent).toEqual([['a', 'b'], ['c']]);
  announcements.close();
});

test('sends nothing after its end, even if the store refuses a message only then', async () => {
  const refusal = Promise.withResolvers<void>();
  let attempts = 0;
  const announcements = new RevokedTokenAnnouncements(async () => {
    attempts += 1;
    await refusal.promise;
  }, 1);
  const announced = announcements.announce(['a']);
  announcements.close();
  refusal.reject(new Error('the store is away'));
  await announced;
  // Node runs timers by their due time: this one is due after any that was set before.
  await new Promise((resolve) => setTimeout(resolve, 2));
  expect(attempts).toBe(1);
});
