import { expect, test } from 'vitest';
import { anyPattern } from '../../src/front-door/url-pattern.ts';

test.each([
  ['http://127.0.0.1:*/**', 'http://127.0.0.1:8976/callback', true],
  ['http://127.0.0.1:*/**', 'http://127.0.0.1/', true],
  ['http://127.0.0.1:*/**', 'http://127.0.0.1:1/a/b?c=d', true],
  ['http://127.0.0.1:*/**', 'http://127.0.0.1:99999/a', false],
  ['http://127.0.0.1:*/**', 'https://127.0.0.1:1/a', false],
  ['http://127.0.0.1:*/**', 'http://127x0.0.1:1/a', false],
  ['https://claude.ai/**', 'https://claude.ai/oauth/metadata', true],
  ['https://claude.ai/**', 'https://claude.ai', false],
  ['https://claude.ai/**', 'https://claude.ai:8443/a', false],
  ['https://claude.ai/**', 'https://CLAUDE.ai/a', false],
  ['https://a.example/*/callback', 'https://a.example/x/callback', true],
  ['https://a.example/*/callback', 'https://a.example/x/y/callback', false],
  ['https://a.example/*/callback', 'https://a.example/x%2Fy/callback', false],
  ['https://a.example/cb/**', 'https://a.example/cb/..%2fadmin', false],
  ['https://a.example/cb/**', 'https://a.example/cb/%2E%2e%2Fadmin', false],
  ['https://a.example/cb/**', 'https://a.example/cb/..%5cadmin', false],
  ['https://a.example/cb/**', 'https://a.example/cb/..%252Fadmin', false],
  ['https://a.example/cb/**', 'https://a.example/cb/%25252e/admin', false],
  ['https://a.example/cb/**', 'https://a.example/cb/caf%C3%A9', true],
  ['https://a.example/cb/**', 'https://a.example/cb?return=%2Fhome', false],
  ['https://a.example/cb/**', 'https://a.example/cb/x?return=%2Fhome', true],
  ['https://a.example/cb', 'https://a.example/cb', true],
  ['https://a.example/cb', 'https://a.example/cb?x=1', false],
  ['https://a.example/cb', 'https://a.example/cb/', false],
  ['https://a.example/a.b', 'https://a.example/axb', false],
  ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor://anysphere.cursor-mcp/oauth/callback', true],
  ['https://a.example/**', 'https://user@a.example/x', false],
  ['https://a.example/**', 'https://a.example/x/../y', false],
  ['https://a.example/**', 'https://a.example/x\\y', false],
  ['https://a.example/**', 'https://a.example/x#y', false],
  ['https://a.example/**', ' https://a.example/x', false],
  ['https://a.example/**', 'not a URL', false],
])('%s and %s: %s', (pattern, url, matches) => {
  expect(anyPattern([pattern])(url)).toBe(matches);
});
