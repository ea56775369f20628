import { expect, test } from 'vitest';
import { loopbackHosts } from '../../../../src/core/lib/ip-address.ts';
import type { Call } from '../../../../src/core/model/call.ts';
import { createAllowed } from '../../../../src/core/gateway/listen/allow.ts';
import { words } from '../../../support/words.ts';
import { orReason } from '../../../support/denial.ts';

const allowed = createAllowed({
  allowedHosts: new Set([...loopbackHosts, 'gateway.test', 'internal']),
  allowedOrigins: new Set(['http://gateway.test', 'https://app.example']),
});

/** The reason why a request with these fields is refused. */
function refusal(fields: { readonly host?: string; readonly origin?: string }, require = allowed.require) {
  return orReason(() => {
    require({ fields } as Call);
    return undefined;
  });
}

test.each(
  words(`
  http://gateway.test https://app.example http://localhost http://localhost:6274
  http://127.0.0.1:80 https://127.0.0.1:1 https://[::1]:1`),
)('allows pages of %s', (origin) => {
  expect(refusal({ host: 'gateway.test', origin })).toBeUndefined();
  expect(allowed.origin(origin)).toBe(true);
});

test.each([
  '',
  'http://gateway.test, http://evil',
  ...words(`
  * null NULL file:// chrome-extension://x gateway.test http://evil.example https://gateway.test HTTP://GATEWAY.TEST
  http://gateway.test/ http://gateway.test:8080 http://gateway.test.evil http://evil-gateway.test
  http://gateway.test@evil http://app.example https://app.example:444 https://app.example.evil.example
  http://localhost:x http://localhost:123456 http://localhost.evil http://localhost:80@evil http://127.0.0.1.evil
  http://127.0.0.2 http://2130706433 http://0.0.0.0 http://[::] http://192.168.0.1`),
])('refuses pages of %j, but for a route that every page may call', (origin) => {
  expect(refusal({ host: 'gateway.test', origin })).toBe('request.origin');
  expect(allowed.origin(origin)).toBe(false);
  expect(refusal({ host: 'gateway.test', origin }, allowed.requireHost)).toBeUndefined();
});

test.each(
  words(
    'gateway.test GATEWAY.test:8080 gateway.test: gateway.test:65535 internal localhost:1 127.0.0.1 [::1] [::1]:8080',
  ),
)('allows the Host %s, also after a refusal', (host) => {
  expect([refusal({ host }), refusal({ host: 'evil' }), refusal({ host })]).toEqual([
    undefined,
    'request.host',
    undefined,
  ]);
});

test.each([
  undefined,
  '',
  'gateway.test, evil',
  'gateway.test evil',
  'gateway.te\u017ft',
  Buffer.from('gateway.te\u017ft').toString('latin1'),
  ...words(`
  * null evil.example gateway.test. GATEWAY.TEST.:80 gateway.test.. .gateway.test evil.gateway.test gateway.test.evil
  gateway.test@evil a@gateway.test evil#gateway.test gateway.test:80:80 gateway.test:x gateway.test/ gateway%2etest
  [::1 ::1 [::2] 127.0.0.2 0x7f.1`),
])('refuses the Host %j, with any Origin', (host) => {
  for (const origin of [undefined, 'http://gateway.test', 'http://localhost']) {
    const fields = { ...(host !== undefined && { host }), ...(origin !== undefined && { origin }) };
    expect(refusal(fields)).toBe('request.host');
    expect(refusal(fields, allowed.requireHost)).toBe('request.host');
  }
});

test('names at most 128 characters of what it refuses', () => {
  const long = `${'x'.repeat(128)}yy`;
  const named = `${JSON.stringify('x'.repeat(128))} is not among`;
  expect(() => allowed.require({ fields: { host: long } } as Call)).toThrow(named);
  expect(() => allowed.require({ fields: { host: 'gateway.test', origin: long } } as Call)).toThrow(named);
});

const patterns = createAllowed({
  allowedHosts: new Set(['gateway.test']),
  allowedOrigins: new Set([
    'https://*.example.com',
    'http://*.dev.example:8080',
    'tauri://localhost',
    'vscode-webview://*',
  ]),
});

test.each(
  words(`
  https://a.example.com https://a-1.b.example.com https://_x.example.com http://a.dev.example:8080 tauri://localhost
  vscode-webview://1v8hd6k http://localhost:1`),
)('a pattern allows pages of %s', (origin) => expect(patterns.origin(origin)).toBe(true));

test.each(
  words(`
  https://example.com https://.example.com https://a.example.com.evil https://a.example.com:444 http://a.example.com
  https://aexample.com https://a..example.com https://evil.com/.example.com https://evil@a.example.com
  https://evil#.example.com https://A.example.com https://-.example.com https://a.exampleXcom null
  http://a.dev.example http://a.dev.example:80801 tauri://localhost:1 tauri://other vscode-webview://
  vscode-webview://a/b vscode-webviewx://a https://vscode-webview://a`),
)('no pattern allows pages of %s', (origin) => expect(patterns.origin(origin)).toBe(false));
