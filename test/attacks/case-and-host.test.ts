import { test } from 'vitest';
import { lastHead } from '../support/raw.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

// test/pipeline/route/router.test.ts has the table of paths, test/pipeline/listen/allow.test.ts that of hosts.

const world = startBeforeAll(startAttackWorld);

test.each(['/Admin', '/%61dmin', '/%EF%BC%A1DMIN'])(
  'avoids no policy by another spelling of a path: %s',
  async (target) => {
    const attack = lastHead(`GET ${target}`, world.authorization);
    await world.withstand(attack, { statuses: [400], reasons: ['request.path'] });
  },
);

test('refuses methods in other cases, RFC 9110 §9.1', async () => {
  for (const method of ['get', 'Get', 'gET', 'post', 'Options', 'GETT', 'X']) {
    await world.withstand(lastHead(`${method} /public`), { statuses: [400], reasons: ['request.malformed'] });
  }
});

test('compares Host without case and port, as the bytes that it is', async () => {
  const withHost = (host: string): string => lastHead('GET /public').replace('gateway.test', host);
  await world.withstand(withHost('Gateway.Test:80'), { statuses: [200], reached: ['GET /public'], reasons: ['allow'] });
  for (const host of ['gateway.te\u017ft', 'gateway.test.', '']) {
    const attack = Buffer.from(withHost(host), 'utf8');
    await world.withstand(attack, { statuses: [403], reasons: ['request.host'] });
  }
});
