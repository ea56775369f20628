import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lastHead } from '../support/raw.ts';
import { type AttackWorld, startAttackWorld } from '../worlds/attacks.ts';

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld({ yaml: 'allowed_hosts: [gateway.test, "[::1]"]\n' });
});
afterAll(() => world.close());

const withHost = (host: string, target = '/public'): string =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

/** Every way to write some of the letters of `text` otherwise. */
function cases(text: string): string[] {
  const letters = text.split('');
  return Array.from({ length: 2 ** letters.length }, (_, mask) =>
    letters.map((letter, i) => (mask & (1 << i) ? letter.toUpperCase() : letter)).join(''),
  );
}

describe('a path in other letters', () => {
  test('is the same path or none: no case of /admin avoids its policy', async () => {
    for (const name of cases('admin')) {
      const attack = lastHead(`GET /${name}`, world.authorization);
      if (name === 'admin') await world.withstand(attack, { statuses: [403], reasons: ['scope.insufficient'] });
      else await world.withstand(attack, { statuses: [400], reasons: ['request.path'] });
    }
  });

  test('avoids no policy with an encoded letter, or one that folds to it', async () => {
    const letters = 'admin'.split('').map((letter, i) => [letter, i] as const);
    const encodings = letters.flatMap(([letter, i]) =>
      [letter, letter.toUpperCase()].map(
        (each) => `/${'admin'.slice(0, i)}%${each.charCodeAt(0).toString(16)}${'admin'.slice(i + 1)}`,
      ),
    );
    // Fullwidth, dotless and dotted i, a letter in a circle.
    const folds = ['/%EF%BD%81dmin', '/adm%C4%B1n', '/%EF%BC%A1DMIN', '/ad%E2%93%9Cin'];
    for (const target of [...encodings, ...folds]) {
      await world.withstand(lastHead(`GET ${target}`, world.authorization), {
        statuses: [400],
        reasons: ['request.path'],
      });
    }
    // These fold to another name.
    for (const target of ['/adm%C4%B0n', '/admin%CC%87']) {
      await world.withstand(lastHead(`GET ${target}`, world.authorization), {
        statuses: [404],
        reasons: ['route.unknown'],
      });
    }
  });

  test('refuses methods in other cases, RFC 9110 §9.1', async () => {
    for (const method of ['get', 'Get', 'gET', 'post', 'Options', 'GETT', 'X']) {
      await world.withstand(lastHead(`${method} /public`), { statuses: [400], reasons: ['request.malformed'] });
    }
  });
});

describe('Host', () => {
  test.each([
    'gateway.test',
    'GATEWAY.TEST',
    'Gateway.Test:80',
    'gateway.test:',
    'gateway.test:65535',
    '[::1]',
    '[::1]:8080',
  ])('allows the Host %s, with the same decision', async (host) => {
    await world.withstand(withHost(host), { statuses: [200], reached: ['GET /public'], reasons: ['allow'] });
    await world.withstand(withHost(host, '/api'), { statuses: [401], reasons: ['credentials.missing'] });
  });

  test.each([
    'gateway.test.',
    'GATEWAY.TEST.:80',
    'gateway.test..',
    '.gateway.test',
    'evil.gateway.test',
    'gateway.test.evil',
    'gateway.test@evil',
    'evil#gateway.test',
    'gateway.test:80:80',
    'gateway.test:x',
    'gateway.test/',
    'gateway.test, evil',
    'gateway.test evil',
    'gateway%2etest',
    'gateway.te\u017ft',
    '[::1',
    '::1',
    '[::2]',
    '127.0.0.2',
    '0x7f.1',
    'null',
    '*',
    '',
  ])('refuses the Host %j', async (host) => {
    for (const target of ['/public', '/api', '/mcp']) {
      const { decisions } = await world.withstand(Buffer.from(withHost(host, target), 'utf8'), { statuses: [403] });
      expect(decisions).toMatchObject([{ reason: 'request.host' }]);
    }
  });
});
