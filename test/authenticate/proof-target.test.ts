import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createIsTarget } from '../../src/authenticate/proof-target.ts';
import { canonicalTarget } from '../../src/route/target.ts';

const isTarget = createIsTarget('https://gateway.example');

test.each([
  ['https://gateway.example/mcp', '/mcp', true],
  ['https://gateway.example/mcp?q=1', '/mcp', true],
  ['https://gateway.example/mcp#f', '/mcp', true],
  ['https://gateway.example/mcp?q=/../x', '/mcp', true],
  ['HTTPS://GATEWAY.EXAMPLE:443/mcp', '/mcp', true],
  ['https://gateway.example:/mcp', '/mcp', true],
  ['https://gateway.example/./mcp', '/mcp', true],
  ['https://gateway.example/a/%2e%2e/mcp', '/mcp', true],
  ['https://gateway.example/%6dcp', '/mcp', true],
  ['https://gateway.example/%c3%a9', '/%C3%A9', true],
  ['https://gateway.example/%C3%A9', '/%c3%a9', true],
  ['https://gateway.example', '/', true],
  ['https://gateway.example/', '/', true],
  ['https://gateway.example/mcp/', '/mcp', false],
  ['https://gateway.example/mcp', '/mcp/', false],
  ['https://gateway.example/MCP', '/mcp', false],
  ['https://gateway.example/a%2Fb', '/a/b', false],
  ['https://gateway.example//mcp', '/mcp', false],
  ['http://gateway.example/mcp', '/mcp', false],
  ['https://gateway.example:8443/mcp', '/mcp', false],
  ['https://gateway.example.evil/mcp', '/mcp', false],
  ['https://evil.example/https://gateway.example/mcp', '/mcp', false],
  ['https://gateway.example@evil.example/mcp', '/mcp', false],
  ['https://x@gateway.example/mcp', '/mcp', false],
  ['https://:x@gateway.example/mcp', '/mcp', false],
  ['https:/gateway.example/mcp', '/mcp', false],
  ['https:/gateway.example/https://x', '/https://x', false],
  ['https://[/mcp', '/mcp', false],
  // A path in letters that no URI has is known by its own spelling alone.
  ['https://gateway.example/a|b', '/a|b', true],
  ['https://gateway.example/a|c', '/a|b', false],
  ['', '/a|b', false],
  ['https:///gateway.example/mcp', '/mcp', false],
  ['https:\\\\gateway.example\\mcp', '/mcp', false],
  ['https://gateway.example\\mcp', '/mcp', false],
  [' https://gateway.example/mcp', '/mcp', false],
  ['https://gate\nway.example/mcp', '/mcp', false],
  ['https://gateway.example/mc\u{131}', '/mc%C4%B1', false],
  ['//gateway.example/mcp', '/mcp', false],
  ['wss://gateway.example/mcp', '/mcp', false],
  ['', '/', false],
])('%j for %s: %s', (htu, path, expected) => {
  expect(isTarget(htu, path)).toBe(expected);
});

test('a gateway without TLS, on a port of its own', () => {
  const isOurs = createIsTarget('http://gateway.example:8080');
  expect(isOurs('HTTP://gateway.example:8080/mcp?q', '/mcp')).toBe(true);
  expect(isOurs('https://gateway.example:8080/mcp?q', '/mcp')).toBe(false);
  expect(isOurs('http://gateway.example/mcp?q', '/mcp')).toBe(false);
});

/** A path as the gateway lets it through. */
const canonicalPath = fc.webPath().filter((path) => {
  try {
    return canonicalTarget(path).query === '';
  } catch {
    return false;
  }
});

test('what a client makes of the URL with `new URL` is the target', () => {
  fc.assert(
    fc.property(canonicalPath, fc.webQueryParameters(), (path, query) => {
      const { href } = new URL(`${path}?${query}`, 'https://gateway.example');
      expect(isTarget(href, path)).toBe(true);
    }),
  );
});

test('another path is not', () => {
  fc.assert(
    fc.property(canonicalPath, canonicalPath, (path, other) => {
      fc.pre(decodeURIComponent(path) !== decodeURIComponent(other));
      expect(isTarget(`https://gateway.example${other}`, path)).toBe(false);
    }),
  );
});

test('any string is answered', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (htu) => {
      expect(isTarget(htu, '/mcp')).toBe(false);
    }),
  );
});
