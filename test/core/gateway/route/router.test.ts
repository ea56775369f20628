import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRouter, canonicalTarget, foldedPath } from '../../../../src/core/gateway/route/router.ts';
import { cpuTime } from '../../../support/cpu-time.ts';
import { property } from '../../../support/property.ts';
import { orReason } from '../../../support/denial.ts';
import { words } from '../../../support/words.ts';

const identity = (paths: readonly string[]): ReadonlyMap<string, string> => new Map(paths.map((path) => [path, path]));

function routed(mounts: readonly string[], path: string): string {
  return orReason(() => createRouter(identity(mounts))(path));
}

describe('R-160: whole segments, the longest wins', () => {
  const mounts = ['/mcp', '/mcp/admin', '/a/b/c'];
  test.each([
    ['/mcp', '/mcp'],
    ['/mcp/', '/mcp'],
    ['/mcp/x/y/z', '/mcp'],
    ['/mcp/admin', '/mcp/admin'],
    ['/mcp/admin/', '/mcp/admin'],
    ['/mcp/administrator', '/mcp'],
    ['/a/b/c/d', '/a/b/c'],
    ...words('/mcpx /mc / /a /a/b /x/mcp').map((path) => [path, 'route.unknown']),
  ])('%s → %s', (path, wanted) => expect(routed(mounts, path)).toBe(wanted));

  test('the root takes the rest', () => {
    expect(routed(['/', '/a'], '/')).toBe('/');
    expect(routed(['/', '/a'], '/b/c')).toBe('/');
    expect(routed(['/', '/a'], '/ab')).toBe('/');
    expect(routed(['/', '/a'], '/%20')).toBe('/');
    expect(routed(['/', '/a'], '/a/b')).toBe('/a');
  });

  test('R-160: nothing mounted, nothing found', () => expect(routed([], '/')).toBe('route.unknown'));
});

describe('an encoded slash', () => {
  const takes = (mounts: readonly string[], path: string): string =>
    orReason(() => createRouter(identity(mounts), (mount) => mount === '/a' || mount === '/')(path));
  test.each<[mounts: string[], path: string, wanted: string]>([
    [['/a'], '/a/b%2Fc', '/a'],
    [['/a', '/b'], '/b/c%2Fd', 'request.path'],
    [['/a', '/a/b'], '/a/b%2Fc', 'request.path'],
    [['/a', '/a/b'], '/a/B%2Fc', 'request.path'],
    [['/a', '/a/b'], '/a/b.json%2Fc', 'request.path'],
    [['/a', '/a/b'], '/a/c%2Fb', '/a'],
    [['/', '/a'], '/a%2Fb', 'request.path'],
    [['/', '/b'], '/a%2Fb', '/'],
    [[], '/a%2Fb', 'request.path'],
  ])('%j: %s → %s', (mounts, path, wanted) => expect(takes(mounts, path)).toBe(wanted));

  test('is refused by default', () => expect(routed(['/a'], '/a/b%2Fc')).toBe('request.path'));
});

test.each<[mounts: string[], wanted: string, paths: string]>([
  [['/', '/admin'], 'request.path', '/Admin /ADMIN/x /%EF%BC%A1dmin'],
  [['/', '/admin'], '/', '/Other'],
  [['/', '/kelvin'], 'request.path', '/%E2%84%AAelvin'],
  [['/', '/status'], 'request.path', '/%C5%BFtatus'],
  [['/', '/pub/admin'], 'request.path', '/pub%EF%BC%8Fadmin'],
  [['/', '/Admin'], 'request.path', '/admin /aDMIN/x'],
  [['/', '/Admin'], '/Admin', '/Admin'],
  [['/', '/caf%C3%A9'], 'request.path', '/caf%c3%a9'],
  [['/', '/caf%C3%A9'], '/caf%C3%A9', '/caf%C3%A9'],
  [['/', '/%C3%89'], 'request.path', '/%c3%a9'],
  [['/', '/%CE%B1%CF%82'], 'request.path', '/%CE%91%CE%A3 /%CE%91%CE%A3.json'],
  [['/api', '/api/v1'], 'request.path', '/api/V1/x'],
  [['/api'], '/api', '/api/V1'],
  // An i without a dot, one with a dot above, and a letter in a circle fold to the name; a dot above an n does not.
  [['/admin'], 'request.path', '/Admin /%EF%BC%A1DMIN /adm%C4%B1n /adm%C4%B0n /admi%CC%87n /ad%E2%93%9Cin'],
  [['/admin'], 'route.unknown', '/admin%CC%87'],
])('a path that an upstream could take for another route, with %j, is %s: %s', (mounts, wanted, paths) => {
  for (const path of words(paths)) expect([path, routed(mounts, path)]).toEqual([path, wanted]);
});

describe('a path that an upstream could take for a narrower route', () => {
  const mounts = ['/api', '/api/admin', '/api/v1.0', '/deep/a/b', '/'];
  test.each(
    words(`
      /api/admin.json /api/admin.tar.gz /api/admin.json/users /api/admin. /api/admin.. /api/admin...
      /api/admin%EF%BB%BF /api/admin%E2%80%8B.json/users /api/admin./users /api/admin%20 /api/%20admin /api/admin+
      /api/+admin /api/%20+admin.json
      /api/admin%20.json /api/admin.json. /api/ADMIN.JSON /api/admin%C2%A0 /api/admin%E2%80%8B /api/ad%C2%ADmin
      /api/admin%EF%B8%8F.json /api/%EF%BD%81dmin.json /api.json/admin /api./admin. /api.json /deep.x/a.y/b.z
      /api/admin%3F /api/admin%3Fx/users /api/admin%23x /api/admin%20%3Fx
      /api/admin::$DATA /api/admin:$i30:$INDEX_ALLOCATION/users /deep/a/b%3Fx /api/v1.0.json`),
  )('%s is refused', (path) => expect(routed(mounts, path)).toBe('request.path'));

  // What is mounted as it stands is meant as it stands, and what meets nothing is only a name.
  test.each([
    ['/api/v1.0', '/api/v1.0'],
    ['/api/v1.0/report.json', '/api/v1.0'],
    ['/api/v1', '/api'],
    ['/api/report.json', '/api'],
    ['/api/who%3F', '/api'],
    ['/api/C%23.pdf', '/api'],
    ['/api/administrator.json', '/api'],
    ['/api/x.admin', '/api'],
    ['/api/.admin', '/api'],
    ['/api/admin:cancel', '/api'],
    ['/api/users/admin.json', '/api'],
    ['/api/v1.2/admin', '/api'],
    ['/api/admin/report.json', '/api/admin'],
    ['/api/admin', '/api/admin'],
    ['/deep.x/a.y', '/'],
    ['/favicon.ico', '/'],
  ])('%s → %s', (path, wanted) => expect(routed(mounts, path)).toBe(wanted));

  test('a segment of nothing but what is dropped meets no route', () => {
    expect(routed(['/', '/admin'], '/%20')).toBe('/');
    expect(routed(['/', '/admin'], '/admin/+')).toBe('/admin');
  });

  test('a route for one extension beside one without keeps what it says', () => {
    expect(routed(['/a', '/a.json'], '/a.json')).toBe('/a.json');
    expect(routed(['/a', '/a.json'], '/a.json/x')).toBe('/a.json');
    expect(routed(['/a', '/a.json'], '/a.xml')).toBe('request.path');
    expect(routed(['/a', '/a/x', '/a.json'], '/a.json/x')).toBe('/a.json');
    expect(routed(['/a', '/a/x', '/a.json'], '/a.xml/x')).toBe('request.path');
  });
});

test('a path of 16 KiB costs no more than reading it', () => {
  const mounts = Array.from({ length: 500 }, (_, i) => `/r${i}/a/b/c`);
  const route = createRouter(identity(['/', ...mounts]));
  for (const path of [
    '/x'.repeat(8 * 1024),
    '/'.repeat(16 * 1024),
    '/%C3%A9'.repeat(2 * 1024),
    '/X'.repeat(8 * 1024),
    `/${'a.'.repeat(8 * 1024 - 1)}b`,
    `/x${'.'.repeat(16 * 1024)}x`,
    `/x${'%20'.repeat(5 * 1024)}x`,
    `/${'x+.'.repeat(5 * 1024)}`,
  ]) {
    const ms = cpuTime(() => {
      for (let i = 0; i < 100; i += 1) expect(route(path)).toBe('/');
    });
    expect(ms).toBeLessThan(1000);
  }
});

const segment = fc.constantFrom('a', 'b', 'A', 'ab', '%C3%A9', '%c3%a9', '%E2%84%AA', 'k');
const path = fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join('/')}`);

/** What the router must find, told in the plainest way: among all that match, the longest; folded, the same. */
function model(mounts: readonly string[], asked: string): string {
  const longest = (fold: (path: string) => string): string | undefined =>
    mounts
      .filter((mount) => mount === '/' || `${fold(asked)}/`.startsWith(`${fold(mount)}/`))
      .toSorted((a, b) => fold(b).length - fold(a).length)[0];
  const found = longest((same) => same);
  if (found !== longest(foldedPath)) return 'request.path';
  return found ?? 'route.unknown';
}

const disguised = fc
  .tuple(
    fc.constantFrom('a', 'b', 'ab'),
    fc.constantFrom('', '.', '.a', '.b.a', '%20', '+.', '%E2%80%8B', '.%20.b', 'b.a', '%3Fb', '+%23'),
  )
  .map((parts) => parts.join(''));
const bare = fc
  .array(fc.constantFrom('a', 'b', 'ab', 'a.b'), { maxLength: 3 })
  .map((segments) => `/${segments.join('/')}`);

/** Whether a segment is another one with something after it that some servers drop, told in the plainest way. */
function resembles(segment: string, mounted: string): boolean {
  const visible = decodeURIComponent(segment).replaceAll('\u200b', '');
  return (
    visible === mounted || (visible.startsWith(mounted) && /^[ +]*(?:[.?#]|$)/.test(visible.slice(mounted.length)))
  );
}

test('it refuses exactly what would meet a narrower mount, whatever is mounted', () => {
  const asked = fc.array(disguised, { minLength: 1, maxLength: 4 });
  const segmentsOf = (mount: string): readonly string[] => mount.split('/').filter((each) => each !== '');
  fc.assert(
    fc.property(fc.uniqueArray(bare, { maxLength: 5 }), asked, (mounts, segments) => {
      const path = `/${segments.join('/')}`;
      const plain = mounts
        .filter((mount) => mount === '/' || `${path}/`.startsWith(`${mount}/`))
        .toSorted((one, other) => other.length - one.length)[0];
      const narrower = mounts.filter((mount) => {
        const wanted = segmentsOf(mount);
        return (
          wanted.length > segmentsOf(plain ?? '/').length &&
          wanted.length <= segments.length &&
          wanted.every((each, index) => {
            const segment = segments[index] ?? '';
            // As it stands where some mount beside this one has it so.
            const stands = mounts.some(
              (other) =>
                segmentsOf(other)
                  .slice(0, index + 1)
                  .join('/') === [...wanted.slice(0, index), segment].join('/'),
            );
            return stands ? segment === each : resembles(segment, each);
          })
        );
      });
      const expected = narrower.length > 0 ? 'request.path' : (plain ?? 'route.unknown');
      expect(routed(mounts, canonicalTarget(path).path)).toBe(expected);
    }),
    { numRuns: 2000 },
  );
});

property(
  'it agrees with the plainest model, whatever is mounted',
  [fc.uniqueArray(path, { maxLength: 5, selector: foldedPath }), path],
  (mounts, asked) => {
    expect(routed(mounts, canonicalTarget(asked).path)).toBe(model(mounts, asked));
  },
  { numRuns: 2000 },
);

/** The outcome of the form and the mount of a path, as a request sends it. */
function decided(target: string): string {
  return orReason(() => routed(['/public', '/admin'], canonicalTarget(Buffer.from(target).toString('latin1')).path));
}

test('no case of a name, and no encoded letter, avoids its route', () => {
  for (let mask = 1; mask < 2 ** 5; mask += 1) {
    const name = 'admin'
      .split('')
      .map((letter, i) => (mask & (1 << i) ? letter.toUpperCase() : letter))
      .join('');
    expect(decided(`/${name}`)).toBe('request.path');
  }
  for (const [i, letter] of 'admin'.split('').entries()) {
    for (const each of [letter, letter.toUpperCase()]) {
      const encoded = `%${each.charCodeAt(0).toString(16)}`;
      expect(decided(`/${'admin'.slice(0, i)}${encoded}${'admin'.slice(i + 1)}`)).toBe('request.path');
    }
  }
});

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

/** The path as the most forgiving server reads it: decoded until nothing is left to decode, then resolved. */
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

test('no spelling leads from one route to another on any server or proxy', () => {
  const separators = ['/', '\\', '//', '/./', ';/', '/;/', '/;a=b/', '\t/'];
  const climbs = words('.. .%2e %2e. %2e%2e ..; ..;a=b ... ..%00 ..%20 ．． %ef%bc%8e%ef%bc%8e ..%c0%2f');
  const doors = words('admin Admin ADMIN admin/ admin; admin%00 admin%2f admin. admin%20 %61dmin ａdmin');
  const climbing = separators.flatMap((separator) =>
    climbs.flatMap((climb) =>
      [0, 1, 2].flatMap((levels) => [
        `/public${encoded(`${separator}${climb}${separator}admin`, levels)}`,
        `/public/x${encoded(`/${climb}${separator}${climb}/admin`, levels)}`,
      ]),
    ),
  );
  const named = separators.flatMap((separator) =>
    doors.flatMap((door) => [`${separator}${door}`, `/public${separator}..${separator}${door}`]),
  );
  const generated = [...climbing, ...named];
  const passed = generated.filter((path) => decided(path) === '/public');
  expect(passed.filter((path) => !/^\/public(?:\/|$)/.test(mostForgiving(path)))).toEqual([]);
  // `...` and its like are names; all else is refused.
  expect(passed.length).toBeLessThan(generated.length / 10);
});
