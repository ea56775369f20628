/** Which resource an indicator of a client names: leniently, but never another origin, path or route. */
import { describe, expect, test } from 'vitest';
import { createResources } from '../../src/front-door/resources.ts';
import { FRONT_DOOR } from '../../src/ports/front-door.ts';
import type { Route } from '../../src/core/model/route.ts';

const publicUrl = 'https://mcp.example';
function route(path: string, more: Partial<Route> = {}): Route {
  return {
    name: path,
    path,
    protocol: 'mcp',
    authorizationServers: [{ name: FRONT_DOOR }],
    audiences: [publicUrl + path],
    policy: { scope: [`of${path}`] },
    resource: { scopesSupported: ['read', 'write'] },
    firstChallenge: 'policy',
    ...more,
  } as unknown as Route;
}

const one = createResources({ publicUrl, routes: [route('/mcp')] });
const several = createResources({
  publicUrl,
  routes: [
    route('/mcp', { firstChallenge: 'supported' }),
    route('/more', { audiences: ['api://more', 'https://api.example/v1?a=b', `${publicUrl}/more`] }),
    route('/other', { authorizationServers: [{ name: 'main' }] as unknown as Route['authorizationServers'] }),
  ],
});

describe('R-294: an indicator names', () => {
  test.each([
    ['the resource', 'https://mcp.example/mcp'],
    ['the resource with the query of the URL that a user entered', 'https://mcp.example/mcp?utm_source=x&a=%2f'],
    ['the only resource, by its origin', 'https://mcp.example'],
    ['the only resource, by its origin with a slash', 'https://mcp.example/'],
    ['the only resource, by its origin with a query', 'https://mcp.example?v=2'],
    ['the resource, with the default port', 'https://mcp.example:443/mcp'],
    ['the resource, in capitals', 'HTTPS://MCP.example/mcp'],
  ])('%s', (_title, indicator) => {
    expect([one.nameOf(indicator), one.audienceOf(indicator, 'agent')]).toEqual([
      `${publicUrl}/mcp`,
      `${publicUrl}/mcp`,
    ]);
  });

  test.each([
    ['another path', 'https://mcp.example/other'],
    ['a path below', 'https://mcp.example/mcp/x'],
    ['a slash after the path', 'https://mcp.example/mcp/'],
    ['an encoded path', 'https://mcp.example/%6dcp'],
    ['another case of the path', 'https://mcp.example/MCP'],
    ['another scheme', 'http://mcp.example'],
    ['another port', 'https://mcp.example:8443/'],
    ['another origin that begins so', 'https://mcp.example.evil.example/'],
    ['a subdomain', 'https://x.mcp.example/'],
    ['the parent domain', 'https://example/'],
    ['the origin as a user', 'https://mcp.example@evil.example/'],
    ['a user', 'https://evil@mcp.example/mcp'],
    ['a password', 'https://:x@mcp.example/'],
    ['the origin in the query', 'https://evil.example/?https://mcp.example/'],
    ['the origin with a dot', 'https://mcp.example./'],
    ['a fragment', 'https://mcp.example/mcp#x'],
    ['an empty fragment', 'https://mcp.example/mcp#'],
    ['the origin alone with a fragment', 'https://mcp.example/#'],
    ['an opaque URL', 'urn:mcp.example'],
    ['no URL', 'mcp.example/mcp'],
    ['a space', ' '],
  ])('no resource: %s', (_title, indicator) => {
    expect(() => one.nameOf(indicator)).toThrow('invalid_target');
    expect(() => one.audienceOf(indicator, 'agent')).toThrow('invalid_target');
  });

  test('none by an origin with several resources, and none of a route that trusts other servers', () => {
    for (const indicator of [publicUrl, `${publicUrl}/`, `${publicUrl}/other`]) {
      expect(() => several.nameOf(indicator)).toThrow('invalid_target');
    }
    expect(() => several.default()).toThrow('invalid_target');
  });

  test('the audience that it spells, and the first one by the URL of the route', () => {
    expect(several.audienceOf('api://more', 'agent')).toBe('api://more');
    expect(several.audienceOf('https://api.example/v1?a=b', 'agent')).toBe('https://api.example/v1?a=b');
    expect(several.audienceOf(`${publicUrl}/more?x`, 'agent')).toBe(`${publicUrl}/more`);
    // The only resource at the origin of that audience.
    expect(several.audienceOf('https://api.example', 'agent')).toBe('https://api.example/v1?a=b');
    expect(() => several.audienceOf('https://api.example/v1?a=c', 'agent')).toThrow('invalid_target');
    expect(() => several.audienceOf('api://more?x', 'agent')).toThrow('invalid_target');
  });
});

test('the scopes of a request without any are those of the policy, or all that are supported', () => {
  expect(one.default()).toBe(`${publicUrl}/mcp`);
  expect(one.defaultScope(undefined)).toBe('of/mcp');
  expect(several.defaultScope(`${publicUrl}/mcp`)).toBe('read write');
  expect(several.defaultScope(`${publicUrl}/more`)).toBe('of/more');
  expect(several.defaultScope(undefined)).toBe('');
  expect(several.defaultScope(['a', 'b'])).toBe('');
});
