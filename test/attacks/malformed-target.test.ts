import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lastHead } from '../support/raw.ts';
import { type AttackWorld, startAttackWorld } from '../worlds/attacks.ts';

const methods = ['GET', 'POST', 'DELETE', 'OPTIONS', 'CONNECT', 'PROPFIND'];

/** Targets that are no path of ours: URL parsers throw on them, or read another host, scheme or path out of them. */
const targets = [
  'http://[',
  'http://[::1',
  'http://',
  'http:',
  '//',
  '///',
  '/\\[',
  '/%',
  '/%zz',
  '/%c0%af',
  '/%ff',
  '/%u002e',
  '*',
  '?',
  '#',
  'public',
  'gateway.test:80',
  '[::1]:80',
  '@evil',
  'http://gateway.test/public',
  'http://user:secret@gateway.test/public',
  'https://evil/public',
  'file:///etc/passwd',
  'javascript:x',
  `/${'%2e'.repeat(2_000)}`,
  `/${'a/'.repeat(6_000)}//`,
  '/public\x7f',
  '/public\x01',
  '/public\u00e9',
  '/public?\x7f',
  '/public?\u00ff',
  '/public#fragment',
  '/public?a#fragment',
  '/public HTTP/1.1 x',
];

describe.each(['http', 'https'])('a malformed target, over %s', (scheme) => {
  let world: AttackWorld;
  beforeAll(async () => {
    world = await startAttackWorld({ tls: scheme === 'https' });
  });
  afterAll(() => world.close());

  test.each(methods)('gets 400 for %s, and its reason is logged', async (method) => {
    for (const target of targets) {
      const attack = Buffer.from(lastHead(`${method} ${target}`, world.authorization), 'latin1');
      const { decisions } = await world.withstand(attack, { statuses: [400] });
      expect(decisions, target).toMatchObject([
        { allow: false, reason: expect.stringMatching(/^request\.(?:malformed|target|path)$/) as string },
      ]);
    }
  });

  test('gets 400 without a request line', async () => {
    for (const bytes of [
      '\0',
      'GET\r\n\r\n',
      'GET /\r\n\r\n',
      ' GET / HTTP/1.1\r\n\r\n',
      'G\u00c9T / HTTP/1.1\r\n\r\n',
      '\xff\xfe\r\n\r\n',
    ]) {
      await world.withstand(Buffer.from(bytes.length < 3 ? `${bytes}\r\n\r\n` : bytes, 'latin1'), {
        statuses: [400],
        reasons: ['request.malformed'],
      });
    }
  });
});

describe('in a proxy’s question', () => {
  let world: AttackWorld;
  beforeAll(async () => {
    world = await startAttackWorld();
  });
  afterAll(() => world.close());

  test('is refused, because the proxy would forward it', async () => {
    for (const target of targets) {
      const lines = ['X-Forwarded-Method: GET', `X-Forwarded-Uri: ${target}`, 'X-Forwarded-Host: gateway.test'];
      const question = lastHead('GET /_sallyport/authorize', ...lines, world.authorization);
      await world.withstand(Buffer.from(question, 'latin1'), { statuses: [400] }, world.gateway.forwardAuthUrl);
    }
  });
});
