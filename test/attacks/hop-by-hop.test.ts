import { expect, test } from 'vitest';
import { startAttackWorld } from '../worlds/attacks.ts';
import { lastHead } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';

// test/core/gateway/forward/upstream-request.test.ts and response-headers.test.ts have the tables of hop-by-hop fields.

const world = startBeforeAll(startAttackWorld);

/** The names of the header fields that reached the upstream. */
function namesOf(wire: readonly string[]): string[] {
  return [...wire.join('').matchAll(/^([^:\r\n]+): /gm)].map(([, name = '']) => name.toLowerCase());
}

const ours = [
  'x-auth-subject',
  'x-auth-client',
  'x-auth-identity',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-request-id',
];

/** Ways to write a list, RFC 9110 §5.6.1. */
const lists: readonly ((names: readonly string[]) => readonly string[])[] = [
  (names) => [`Connection: ${names.join(', ')}`],
  (names) => [`Connection: close,${names.join(',')}`],
  (names) => [`connection:\t${names.join(' ,\t')} , `],
  (names) => [`Connection: ,, ${names.join(', ,').toUpperCase()}`],
  (names) => names.map((name) => `Connection: ${name}`),
  (names) => ['Connection: close', `CONNECTION: ${names.join(', ')}`],
];

test('forwards the gateway’s own fields exactly once although Connection names them', async () => {
  for (const list of lists) {
    const attack = lastHead('GET /api', world.authorization, ...list(ours));
    const { wire } = await world.forwards(attack, 'GET /api');
    const told = namesOf(wire);
    for (const name of ours) expect(told.filter((each) => each === name)).toEqual([name]);
  }
});

test('drops Connection and the client’s fields that it names', async () => {
  for (const list of lists) {
    const lines = ['X-Hop: 1', 'x-other: 2', 'X-HOP: 3', 'X-Kept: 4'];
    const attack = lastHead('GET /public', ...list(['X-Hop', 'X-Other']), ...lines);
    const { wire } = await world.forwards(attack, 'GET /public');
    expect(namesOf(wire).filter((name) => /hop|other|kept/.test(name))).toEqual(['x-kept']);
    expect(wire.join('')).not.toMatch(/connection: .*hop/i);
  }
});

test.each(['Authorization', 'Host', 'Content-Length', 'Content-Type', 'DPoP', 'Origin', 'Mcp-Session-Id', 'Expect'])(
  'answers 400 if Connection names %s, on which a decision depends',
  async (name) => {
    for (const list of lists) {
      const attack = lastHead('GET /api', world.authorization, ...list([name]));
      await world.refuses(attack, 400, 'request.framing');
    }
  },
);

test('reads the body although Connection names its framing', async () => {
  const attack = `${lastHead('POST /public', 'Connection: transfer-encoding', 'Transfer-Encoding: chunked')}3\r\nabc\r\n0\r\n\r\n`;
  const { reached } = await world.forwards(attack, 'POST /public');
  expect(reached[0]?.body).toBe('abc');
});
