/** Gateways hear of every revoked token, also of one that was revoked while the store did not answer. */
import { expect, test } from 'vitest';
import { createAnnouncements } from '../../src/front-door/announcements.ts';
import { until } from '../support/until.ts';

test('R-268: a message that the store did not take is sent again, with those that came meanwhile', async () => {
  const sent: (readonly string[])[] = [];
  let isAway = true;
  const announcements = createAnnouncements(
    {
      async publishRevoked(digests) {
        if (isAway) throw new Error('the store is away');
        sent.push(digests);
      },
    },
    1,
  );
  await announcements.announce(['a']);
  await announcements.announce(['b']);
  isAway = false;
  await until(() => sent.length > 0);
  await announcements.announce(['c']);
  expect(sent).toEqual([['a', 'b'], ['c']]);
  announcements.close();
});
