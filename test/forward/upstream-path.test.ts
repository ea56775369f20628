import { expect, test } from 'vitest';
import { createUpstreamPath } from '../../src/forward/upstream-path.ts';
import type { Route } from '../../src/model/route.ts';

test.each([
  ['/api', '/base', '/api', '', '/base'],
  ['/api', '/base', '/api/', '', '/base/'],
  ['/api', '/base', '/api/x/y', '?z=1', '/base/x/y?z=1'],
  ['/api', '', '/api', '', '/'],
  ['/api', '', '/api', '?z', '/?z'],
  ['/api', '', '/api/x', '?', '/x?'],
  ['/', '', '/', '', '/'],
  ['/', '', '/x%20y', '', '/x%20y'],
  ['/', '/base', '/', '', '/base/'],
  ['/', '/base', '/x', '?a="b"', '/base/x?a="b"'],
])('%s on %s: %s%s → %s', (path, base, asked, query, wanted) => {
  expect(createUpstreamPath({ path, upstream: { path: base } } as Route)(asked, query)).toBe(wanted);
});

test.each([
  ['refuse', 'refuse', '/base'],
  ['pass', 'refuse', '/base/admin'],
  ['refuse', 'pass', '/base?confirm=yes'],
] as const)('below: %s, query: %s → %s', (below, query, wanted) => {
  const route = { path: '/mcp', below, query, upstream: { path: '/base' } } as Route;
  expect(createUpstreamPath(route)('/mcp/admin', '?confirm=yes')).toBe(wanted);
});
