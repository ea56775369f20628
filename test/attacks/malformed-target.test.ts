import { describe, expect, test } from 'vitest';
import { lastHead } from '../support/raw.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { question } from './requests.ts';
import { startBeforeAll } from '../support/start-before.ts';

// test/core/gateway/route/target.test.ts has the table of targets.

/** Targets that are no path of ours: URL parsers throw on them, or read another host, scheme or path out of them. */
const targets = [
  'http://[',
  '//',
  '/%zz',
  '*',
  '?',
  'public',
  'gateway.test:80',
  'http://gateway.test/public',
  'http://user:secret@gateway.test/public',
  `/${'a/'.repeat(6_000)}//`,
  '/public/../admin',
  '/public\x7f',
  '/public\x01',
  '/public\u00e9',
  '/public?a#fragment',
  '/public\tx',
  '/public HTTP/1.1 x',
];
const starts = targets.map((target) => `GET ${target}`);
const some = ['http://[', '*', 'gateway.test:80', '/public?a#fragment'];
const others = ['POST', 'DELETE', 'OPTIONS', 'CONNECT', 'PROPFIND'].flatMap((method) =>
  [...some, ...(method === 'CONNECT' ? ['/public'] : [])].map((target) => `${method} ${target}`),
);

describe.each([
  ['http', [...starts, ...others, 'TRACK /public']],
  ['https', [...starts.slice(0, 2), ...others.slice(0, 4)]],
])('over %s', (scheme, malformed) => {
  const world = startBeforeAll(() => startAttackWorld({ tls: scheme === 'https' }));

  test('a malformed target gets 400, and its reason is logged', async () => {
    for (const start of malformed) {
      const attack = Buffer.from(lastHead(start, world.authorization), 'latin1');
      const { decisions } = await world.refuses(attack, 400);
      expect(decisions, start).toMatchObject([
        { allow: false, reason: expect.stringMatching(/^request\.(?:malformed|target|path)$/) as string },
      ]);
    }
  });

  test('another target arrives byte for byte', async () => {
    const target = '/public/caf%C3%A9/a%20b/?q="x"|{y}&z=/../%zz\\';
    await world.forwards(lastHead(`GET ${target}`), `GET ${target}`);
  });

  test('bytes without a request line get 400', async () => {
    for (const bytes of ['\0\r\n\r\n', 'GET\r\n\r\n', ' GET / HTTP/1.1\r\n\r\n', 'G\u00c9T / HTTP/1.1\r\n\r\n']) {
      await world.refuses(Buffer.from(bytes, 'latin1'), 400, 'request.malformed');
    }
  });

  test('a malformed target in a proxy’s question is refused, because the proxy would forward it', async () => {
    for (const target of scheme === 'http' ? targets : []) {
      const asked = Buffer.from(question(target, world.authorization), 'latin1');
      await world.refuses(asked, 400, undefined, world.gateway.forwardAuthUrl);
    }
  });
});
