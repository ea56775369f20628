import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchangeRaw, lastHead } from '../support/raw.ts';
import { type AttackWorld, startAttackWorld } from '../worlds/attacks.ts';

/** From where the caller may be to where it may not, in every spelling that some server or proxy resolves. */
const separators = ['/', '\\', '//', '/./', ';/', '/;/', '/;a=b/', '\t/'];
const climbs = [
  '..',
  '.%2e',
  '%2e.',
  '%2e%2e',
  '..;',
  '..;a=b',
  '...',
  '..%00',
  '..%20',
  '．．',
  '%ef%bc%8e%ef%bc%8e',
  '..%c0%2f',
];
const doors = [
  'admin',
  'Admin',
  'ADMIN',
  'admin/',
  'admin;',
  'admin%00',
  'admin%2f',
  'admin.',
  'admin%20',
  '%61dmin',
  'ａdmin',
];

/** `text` with each of its delimiters percent-encoded `levels` times. */
function encoded(text: string, levels: number): string {
  let result = text;
  for (let level = 0; level < levels; level += 1) {
    result = result.replace(
      level === 0 ? /[./\\;]/g : /%/g,
      (c) => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`,
    );
  }
  return result;
}

const generated = new Set<string>();
for (const separator of separators) {
  for (const climb of climbs) {
    for (const levels of [0, 1, 2]) {
      generated.add(`/public${encoded(`${separator}${climb}${separator}admin`, levels)}`);
      generated.add(`/public/x${encoded(`/${climb}${separator}${climb}/admin`, levels)}`);
    }
  }
  for (const door of doors) {
    generated.add(`${separator}${door}`);
    generated.add(`/public${separator}..${separator}${door}`);
  }
}
generated.delete('/admin');

let world: AttackWorld;
let admin: string;
beforeAll(async () => {
  world = await startAttackWorld();
  admin = `Authorization: Bearer ${await world.token({ scope: 'read admin' })}`;
});
afterAll(() => world.close());

/** What the most forgiving reader makes of a path: decoded until nothing is left to decode, then resolved. */
function mostForgiving(target: string): string {
  let path = target;
  for (let i = 0; i < 4; i += 1) {
    path = path.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  }
  path = path
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('\\', '/')
    .replaceAll(/;[^/]*/g, '')
    .replaceAll('\0', '');
  return new URL(`http://x${path.replaceAll(/\/{2,}/g, '/')}`).pathname;
}

describe('a path that a reader may normalize to another', () => {
  test('never reaches the upstream', async () => {
    expect(generated.size).toBeGreaterThan(400);
    const passed: string[] = [];
    for (const path of generated) {
      world.upstream.seen.length = 0;
      const answer = await exchangeRaw(world.url, Buffer.from(lastHead(`GET ${path}`), 'utf8'));
      const reached = world.upstream.seen.map(({ url }) => url);
      const isAllowed = answer.startsWith('HTTP/1.1 200 ');
      if (isAllowed) passed.push(path);
      // The path arrives exactly as it was decided on, and no reader normalizes it to /admin.
      expect({ status: answer.slice(9, 12), reached }, path).toEqual({
        status: expect.stringMatching(isAllowed ? '200' : /^40[014]$/) as string,
        reached: isAllowed ? [path] : [],
      });
      expect(isAllowed ? mostForgiving(path) : '/public', path).toMatch(/^\/public(?:\/|$)/);
    }
    // `...` and its like are names; all else is refused.
    expect(passed.length).toBeLessThan(generated.size / 10);
    await world.withstand(lastHead('GET /public/../admin'), { statuses: [400], reasons: ['request.path'] });
  });
});

describe('the query', () => {
  test.each([
    '?/.../admin',
    '?..%2f..%2fadmin',
    '?x=/admin%00',
    '?a;b',
    '?%zz',
    '??//',
    '?\\..\\admin',
    '?path=%2e%2e',
  ])('is forwarded unchanged and does not affect the decision: %s', async (query) => {
    const target = `/public/x${query}`;
    await world.withstand(lastHead(`GET ${target}`), {
      statuses: [200],
      reached: [`GET ${target}`],
      reasons: ['allow'],
    });
  });

  test('selects no other route', async () => {
    for (const query of ['?/public', '?/../public', '?x=/public/']) {
      const expected = { statuses: [403], reasons: ['scope.insufficient'] } as const;
      await world.withstand(lastHead(`GET /admin${query}`, world.authorization), expected);
    }
  });
});

test('forwards an allowed path exactly as it was decided on', async () => {
  for (const path of [
    '/admin',
    '/admin/',
    '/admin/a%20b',
    '/admin/caf%C3%A9',
    '/admin/...',
    "/admin/~!$&'()*+,=:@-._",
  ]) {
    const expected = { statuses: [200], reached: [`GET ${path}`], reasons: ['allow'] } as const;
    await world.withstand(lastHead(`GET ${path}`, admin), expected);
  }
});
