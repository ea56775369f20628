import { describe, expect, test } from 'vitest';
import { head, lastHead } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { question } from './requests.ts';

/** What a proxy would say, or a framework obeys: where a call comes from, and that it is another than it is. */
const said = [
  'X-Forwarded-For: 6.6.6.6',
  'X-Forwarded-Host: evil',
  'X-Forwarded-Proto: gopher',
  'X-Forwarded-Port: 666',
  'X-Forwarded-Prefix: /admin',
  'X-Forwarded-Uri: /admin',
  'X-Forwarded-Method: DELETE',
  'X-Forwarded-Server: evil',
  'X-Forwarded-Path: /admin',
  'Forwarded: for=6.6.6.6;host=evil;proto=gopher',
  'X-Original-URL: /admin',
  'X-Original-URI: /admin',
  'X-Original-Host: evil',
  'X-Original-Method: DELETE',
  'X-Rewrite-URL: /admin',
  'X-Override-URL: /admin',
  'X-HTTP-Method-Override: DELETE',
  'X-HTTP-Method: DELETE',
  'X-Method-Override: DELETE',
  'X-HTTP-Path-Override: /admin',
  'X-Host: evil',
  'X-Real-IP: 6.6.6.6',
  'X-Client-IP: 6.6.6.6',
  'X-Originating-IP: 6.6.6.6',
  'X-Remote-Addr: 6.6.6.6',
  'True-Client-IP: 6.6.6.6',
  'Base-Url: http://evil/',
  'X-Script-Name: /admin',
  'X-Path-Info: /admin',
];
// Ids contain any digits.
const lies = /6\.6\.6\.6|evil|gopher|\b666\b|DELETE/;
const spelled = (line: string): string[] => [
  line,
  line.toUpperCase(),
  line.replace(/^[^:]+/, (name) => name.replaceAll('-', '_')),
];

describe.each([
  ['an untrusted peer', '', 'x-forwarded-for: 127.0.0.1'],
  [
    'a trusted proxy, of which X-Forwarded-For alone is read',
    'trusted_proxies: [127.0.0.1]\n',
    'x-forwarded-for: 6.6.6.6, 127.0.0.1',
  ],
])('from %s', (peer, yaml, forwardedFor) => {
  const world = startBeforeAll(() => startAttackWorld({ yaml }));

  test('R-130: do not change the decision, and do not reach the upstream', async () => {
    const lines = said
      .flatMap(spelled)
      .filter((line) => peer === 'an untrusted peer' || !/^x.forwarded.for/i.test(line));
    for (const [target, status, reason] of [
      ['/public', 200, 'allow'],
      ['/api', 401, 'credentials.missing'],
      ['/nowhere', 404, 'route.unknown'],
      ['/public/../admin', 400, 'request.path'],
    ] as const) {
      const reached = status === 200 ? [`GET ${target}`] : [];
      const { wire } = await world.withstand(lastHead(`GET ${target}`, ...lines), {
        statuses: [status],
        reached,
        reasons: [reason],
      });
      expect(wire.join('')).not.toMatch(lies);
    }
    await world.refuses(lastHead('GET /admin', world.authorization, ...lines), 403, 'scope.insufficient');
  });

  test('R-130: are replaced by the gateway’s own', async () => {
    const lines = said.filter((line) => !line.startsWith('X-Forwarded-For: 6') || peer !== 'an untrusted peer');
    const { wire } = await world.forwards(lastHead('GET /api', world.authorization, ...lines), 'GET /api');
    const told = wire.join('').match(/^x-forwarded-[^\r]+/gim);
    expect(told).toEqual([forwardedFor, 'x-forwarded-proto: http', 'x-forwarded-host: gateway.test']);
  });

  test('do not change the metadata, which is built from public_url', async () => {
    const { answers } = await world.withstand(
      head('GET /.well-known/oauth-protected-resource/mcp', ...said) +
        lastHead('POST /mcp', ...said, 'Content-Length: 0'),
      { statuses: [200, 401] },
    );
    expect(answers.join('')).toContain('"resource":"http://gateway.test/mcp"');
    expect(answers.join('')).not.toMatch(lies);
  });
});

const world = startBeforeAll(startAttackWorld);

test('in a proxy’s question are refused if they name another request, because the proxy would forward them', async () => {
  const naming = said.filter((line) =>
    /^(?:X-Original-(?:UR|Method)|X-Rewrite|X-HTTP-Method|X-Method|Base-|X-Script|X-Path|X-Forwarded-(?:Uri|Method|Host))/.test(
      line,
    ),
  );
  expect(naming.length).toBeGreaterThan(10);
  for (const line of naming) {
    await world.refuses(question('/public', line), 400, 'forward_auth.request', world.gateway.forwardAuthUrl);
  }
});
