/** The table of clients, and the redirect URIs that each of them was seen to use. */
import { expect, test } from 'vitest';
import { anyPattern } from '../../../../src/front-door/url-pattern.ts';
import { type ClientQuirks, clients, knownRedirects } from '../../../../src/serve/config/quirks/clients.ts';
import { type ProviderQuirks, providers, sourceUrl } from '../../../../src/serve/config/quirks/providers.ts';
import { words } from '../../../support/words.ts';

test.each(Object.entries<ClientQuirks | ProviderQuirks>({ ...clients, ...providers }))(
  'each fact of %s has a source and a month',
  (_name, { facts }) => {
    expect(Object.keys(facts).length).toBeGreaterThan(0);
    for (const [month, read] of Object.entries(facts)) {
      expect(month).toMatch(/^20[0-9]{2}-(?:0[1-9]|1[0-2])$/);
      for (const [source, text] of Object.entries(read)) {
        expect(text).toMatch(/^[A-Za-z0-9].*[^.]$/);
        expect(sourceUrl(source)).toMatch(/^https:\/\/[^ #]+$/);
      }
    }
  },
);

test('a thread is a page of its repository', () => {
  expect(sourceUrl('owner/repository#7')).toBe('https://github.com/owner/repository/issues/7');
});

test.each([
  ['claude', 'https://claude.ai/api/mcp/auth_callback', 'https://claude.ai.evil.example/api/mcp/auth_callback'],
  ['claude', 'https://claude.com/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback/x'],
  ['claude-code', 'http://localhost:53682/callback', 'http://localhost.evil.example/callback'],
  ['claude-code', 'http://127.0.0.1:53682/callback', 'http://127.0.0.2:53682/callback'],
  ['chatgpt', 'https://chatgpt.com/connector/oauth/a1b2c3', 'https://chatgpt.com/connector/oauth/a1b2c3/x'],
  ['chatgpt', 'https://chatgpt.com/connector_platform_oauth_redirect', 'https://evil.example/connector/oauth/a1b2c3'],
  ['vscode', 'http://127.0.0.1:33418/', 'http://127.0.0.1:33418/x'],
  ['vscode', 'http://127.0.0.1:59656', 'http://127.0.0.1@evil.example/'],
  ['vscode', 'https://vscode.dev/redirect', 'https://vscode.dev/redirect?url=https://evil.example'],
  ['cursor', 'cursor://anysphere.cursor-mcp/oauth/callback', 'cursor://evil/oauth/callback'],
  ['cursor', 'http://localhost:8787/callback', 'https://localhost:8787/callback'],
  ['codex', 'http://127.0.0.1:1455/callback', 'http://[::1]:1455/callback'],
  ['codex', 'http://127.0.0.1:1455/callback/qN3xgw2mC5hR', 'http://127.0.0.1:1455/callback/a/b'],
  ['gemini-cli', 'http://localhost:7777/oauth/callback', 'http://localhost:7777/callback'],
  [
    'copilot-studio',
    'https://global.consent.azure-apim.net/redirect/cr123-5fdemo',
    'https://global.consent.azure-apim.net.evil.example/redirect/x',
  ],
  ['inspector', 'http://localhost:6274/oauth/callback/debug', 'http://localhost:6274/oauth/callback/x'],
  ['loopback', 'http://[::1]:8080/any/path', 'http://[::2]/any/path'],
])('R-285: known:%s is %s, and not %s', (name, own, other) => {
  const matches = anyPattern(knownRedirects.get(name) ?? []);
  expect([matches(own), matches(other)]).toEqual([true, false]);
});

test('the metadata document of ChatGPT has an address for each connector', () => {
  const matches = anyPattern([clients.chatgpt.metadataDocument]);
  expect(matches('https://chatgpt.com/oauth/a1b2c3/client.json')).toBe(true);
  expect(matches('https://chatgpt.com/oauth/a/b/client.json')).toBe(false);
});

test('the names of known clients stay', () => {
  expect([...knownRedirects.keys()]).toEqual(
    words('claude claude-code chatgpt vscode cursor codex gemini-cli copilot-studio inspector loopback'),
  );
});
