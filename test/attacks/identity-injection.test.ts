import { describe, expect, test } from 'vitest';
import type { SeenRequest } from '../support/upstream.ts';
import { head, lastHead } from '../support/raw.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { handshake, question } from './requests.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** RFC 9110 §5.6.2 `tchar` that is no letter or digit: CGI and its kin make `_` of some or all of them. */
const separators = "-_.!#$%&'*+^`|~".split('');

/** What the gateway says to the upstream of `/api`, whether or not the token has something to say there. */
const emitted = [
  'x-auth-subject',
  'x-auth-client',
  'x-auth-absent',
  'x_auth_roles',
  'x-auth-identity',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-request-id',
];

/** Every way to write a name that some server reads as `name`. */
function spellings(name: string): string[] {
  const words = name.split(/[-_]/);
  const joined = separators.map((separator) => words.join(separator));
  const title = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1));
  const mixed = [words.slice(0, 2).join('_'), ...words.slice(2)].join('-');
  return [...joined, mixed, name.toUpperCase(), title.join('-'), title.join('_')];
}

/** What an upstream saw, without what differs from request to request. */
function told({ rawHeaders }: SeenRequest): string[] {
  const lines = Array.from(
    { length: rawHeaders.length / 2 },
    (_, i) => `${rawHeaders[2 * i]}: ${rawHeaders[2 * i + 1]}`,
  );
  return lines
    .map((line) => line.replace(/^(x-request-id|x-auth-identity|sec-websocket-key): .*/i, '$1: …'))
    .toSorted();
}

// test/core/gateway/forward/upstream-request.test.ts has the fields of frontends, test/attacks/hop-by-hop.test.ts what Connection names.
const world = startBeforeAll(startAttackWorld);

const fields = (names: readonly string[]): string[] => names.map((name) => `${name}: mallory`);

/** Each way of a request through the gateway: its bytes, with `lines` in its header section. */
const ways: Readonly<Record<string, (lines: readonly string[], credential: string) => string>> = {
  'a plain request': (lines, credential) => lastHead('GET /api', credential, ...lines),
  'fields before the credential': (lines, credential) => lastHead('GET /api', ...lines, credential),
  'each field twice': (lines, credential) => lastHead('GET /api', ...lines, credential, ...lines),
  'a counted body': (lines, credential) => `${lastHead('PUT /api', credential, ...lines, 'Content-Length: 4')}body`,
  'a chunked body, and again in its trailer': (lines, credential) =>
    `${lastHead('DELETE /api', credential, ...lines, 'Transfer-Encoding: chunked')}4\r\nbody\r\n0\r\n${lines.join('\r\n')}\r\n\r\n`,
  'an expectation': (lines, credential) =>
    `${lastHead('POST /api', credential, ...lines, 'Expect: 100-continue', 'Content-Length: 4')}body`,
  'an offer of h2c': (lines, credential) =>
    head(
      'GET /api',
      credential,
      ...lines,
      'Connection: Upgrade, HTTP2-Settings, close',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABk',
    ),
};

describe.each(Object.entries(ways))('by %s', (_way, bytes) => {
  /** The identity that reaches the upstream if the client sends `lines` as well. */
  async function toldOf(lines: readonly string[], credential = world.authorization): Promise<string[]> {
    const attack = bytes(lines, credential);
    const method = attack.slice(0, attack.indexOf(' '));
    const { reached, wire } = await world.forwards(attack, `${method} /api`);
    expect(wire.join('')).not.toContain('mallory');
    return told(reached[0] as SeenRequest);
  }

  test('R-127: replaces a client’s own in any spelling', async () => {
    expect(await toldOf(fields(emitted.flatMap(spellings)))).toEqual(await toldOf([]));
  });

  test('removes it if the token lacks the claim', async () => {
    const bare = `Authorization: Bearer ${await world.token({ client_id: undefined })}`;
    const lines = await toldOf(fields(emitted.flatMap(spellings)), bare);
    expect(lines).toEqual(await toldOf([], bare));
    expect(lines.filter((line) => /^x.auth.(?:client|absent|roles)/.test(line))).toEqual([]);
  });
});

test('replaces it in a WebSocket handshake', async () => {
  const opening = (lines: readonly string[]): string =>
    head('GET /socket', world.authorization, 'Connection: Upgrade', ...handshake, ...lines);
  // The upstream knows no WebSocket, and answers as it answers everything.
  const before = await world.forwards(opening([]), 'GET /socket');
  const after = await world.forwards(opening(fields(emitted.flatMap(spellings))), 'GET /socket');
  expect(after.wire.join('')).not.toContain('mallory');
  expect(after.reached.map(told)).toEqual(before.reached.map(told));
});

test('removes it on a route without identity, because its upstream may trust it from another', async () => {
  const lines = fields(emitted.flatMap(spellings));
  for (const [credential, target] of [
    ['X-Kept: 1', '/public'],
    [world.authorization, '/alive/x'],
  ] as const) {
    const { wire } = await world.forwards(lastHead(`GET ${target}`, credential, ...lines), `GET ${target}`);
    expect(wire.join('')).not.toContain('mallory');
  }
});

test('refuses it in a proxy’s question, because the proxy would forward it', async () => {
  for (const name of ['x-auth-subject', 'x-auth-client', 'x-auth-absent', 'x_auth_roles', 'x-auth-identity']) {
    for (const spelling of [name, name.replaceAll('-', '_')]) {
      for (const target of ['/api', '/public']) {
        const asked = question(target, world.authorization, `${spelling}: mallory`);
        await world.refuses(asked, 400, 'forward_auth.request', world.gateway.forwardAuthUrl);
      }
    }
  }
});
