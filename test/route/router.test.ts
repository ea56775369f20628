import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Denial } from '../../src/model/denial.ts';
import { createRouter } from '../../src/route/router.ts';
import { canonicalTarget, foldedPath } from '../../src/route/target.ts';
import { cpuTime } from '../support/cpu-time.ts';

const identity = (paths: readonly string[]): ReadonlyMap<string, string> => new Map(paths.map((path) => [path, path]));

function routed(mounts: readonly string[], path: string): string {
  try {
    return createRouter(identity(mounts))(path);
  } catch (error) {
    if (error instanceof Denial) return error.reason;
    throw error;
  }
}

describe('whole segments, the longest wins', () => {
  const mounts = ['/mcp', '/mcp/admin', '/a/b/c'];
  test.each([
    ['/mcp', '/mcp'],
    ['/mcp/', '/mcp'],
    ['/mcp/x/y/z', '/mcp'],
    ['/mcp/admin', '/mcp/admin'],
    ['/mcp/admin/', '/mcp/admin'],
    ['/mcp/administrator', '/mcp'],
    ['/mcpx', 'route.unknown'],
    ['/mc', 'route.unknown'],
    ['/', 'route.unknown'],
    ['/a', 'route.unknown'],
    ['/a/b', 'route.unknown'],
    ['/a/b/c/d', '/a/b/c'],
    ['/x/mcp', 'route.unknown'],
  ])('%s → %s', (path, wanted) => expect(routed(mounts, path)).toBe(wanted));

  test('the root takes the rest', () => {
    expect(routed(['/', '/a'], '/')).toBe('/');
    expect(routed(['/', '/a'], '/b/c')).toBe('/');
    expect(routed(['/', '/a'], '/ab')).toBe('/');
    expect(routed(['/', '/a'], '/a/b')).toBe('/a');
  });

  test('nothing mounted, nothing found', () => expect(routed([], '/')).toBe('route.unknown'));
});

describe('a path that an upstream could take for another route', () => {
  test.each([
    [['/', '/admin'], '/Admin', 'request.path'],
    [['/', '/admin'], '/ADMIN/x', 'request.path'],
    [['/', '/admin'], '/%EF%BC%A1dmin', 'request.path'],
    [['/', '/kelvin'], '/%E2%84%AAelvin', 'request.path'],
    [['/', '/status'], '/%C5%BFtatus', 'request.path'],
    [['/', '/pub/admin'], '/pub%EF%BC%8Fadmin', 'request.path'],
    [['/', '/Admin'], '/admin', 'request.path'],
    [['/', '/Admin'], '/aDMIN/x', 'request.path'],
    [['/', '/Admin'], '/Admin', '/Admin'],
    [['/', '/caf%C3%A9'], '/caf%c3%a9', 'request.path'],
    [['/', '/caf%C3%A9'], '/caf%C3%A9', '/caf%C3%A9'],
    [['/', '/%C3%89'], '/%c3%a9', 'request.path'],
    [['/admin'], '/Admin', 'request.path'],
    [['/', '/admin'], '/Other', '/'],
    [['/api', '/api/v1'], '/api/V1/x', 'request.path'],
    [['/api'], '/api/V1', '/api'],
  ])('%j: %s → %s', (mounts, path, wanted) => expect(routed(mounts, path)).toBe(wanted));
});

test('a path of 16 KiB costs no more than reading it', () => {
  const mounts = Array.from({ length: 500 }, (_, i) => `/r${i}/a/b/c`);
  const route = createRouter(identity(['/', ...mounts]));
  for (const path of [
    '/x'.repeat(8 * 1024),
    '/'.repeat(16 * 1024),
    '/%C3%A9'.repeat(2 * 1024),
    '/X'.repeat(8 * 1024),
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

test('it agrees with the plainest model, whatever is mounted', () => {
  fc.assert(
    fc.property(fc.uniqueArray(path, { maxLength: 5, selector: foldedPath }), path, (mounts, asked) => {
      expect(routed(mounts, canonicalTarget(asked).path)).toBe(model(mounts, asked));
    }),
    { numRuns: 2000 },
  );
});
