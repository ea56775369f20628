import { describe, expect, test } from 'vitest';
import { upstreamHeaders } from '../../../src/capabilities/upstream-headers/slot.ts';
import type { Principal } from '../../../src/core/model/principal.ts';
import { parseExactly } from '../../../src/core/lib/json/lossless.ts';
import { refused, refuses, upstream } from '../../serve/config/edits.ts';
import { edited, loaded } from '../../serve/config/folder.ts';

describe('check refuses', () => {
  const reserved = 'is reserved: the gateway sends or removes it; choose a header name such as x-api-key';
  const names = [
    'Host',
    'Content-Type',
    'content_length',
    'Transfer-Encoding',
    'Connection',
    'TE',
    'Cookie',
    'X-Request-Id',
    'Traceparent',
    'X-Forwarded-For',
    'Forwarded',
    'Mcp-Session-Id',
    'Mcp_Method',
    'Proxy-Authorization',
    'Impersonate-User',
  ];
  refuses(
    names
      .map((name) => `upstream headers: { ${name}: abc } → :13:18: routes[0].upstream.headers.${name}: ${reserved}\n`)
      .join(''),
  );
  refuses(`
upstream headers: { x-a: "" } → :13:23: routes[0].upstream.headers.x-a: must not be empty
upstream headers: { x-a: "\${env:EMPTY:-}" } → :13:23: routes[0].upstream.headers.x-a: must not be empty
upstream headers: { x-a: "a\\nb" }
  :13:23: routes[0].upstream.headers.x-a: the value is not a header value: use visible ASCII characters
upstream headers: { "a b": x }
  :13:18: routes[0].upstream.headers["a b"]: the key is not a header name
upstream headers: { X-A: a, x_a: b } → :13:26: routes[0].upstream.headers.x_a: is the same header as X-A
upstream identity: { x-a: sub }⏎headers: { X_A: b } → :14:18: routes[0].upstream.headers.X_A: is also in identity, as x-a
upstream identity: { signed: X-A }⏎headers: { x-a: b } → :14:18: routes[0].upstream.headers.x-a: is also in identity, as X-A
upstream identity: { signed: { header: X-A } }⏎headers: { x-a: b }
  :14:18: routes[0].upstream.headers.x-a: is also in identity, as X-A
upstream headers: { Authorization: abc } → accepted
upstream token: none⏎headers: { Authorization: abc } → accepted
upstream token: forward⏎headers: { Authorization: abc }
  :14:18: routes[0].upstream.headers.Authorization: cannot be combined with token: forward, which sends it
upstream headers: { X-A: { by: tenant } }
  :13:23: routes[0].upstream.headers.X-A: missing key: values
upstream headers: { X-A: { by: tenant, values: {} } }
  :13:45: routes[0].upstream.headers.X-A.values: must not be empty
upstream headers: { X-A: { by: tenant, values: { a: "" } } }
  :13:50: routes[0].upstream.headers.X-A.values.a: must not be empty
upstream headers: { X-A: { by: /a~, values: { a: b } } }
  :13:29: routes[0].upstream.headers.X-A.by: "/a~" is not a JSON Pointer, RFC 6901 §3
no audience & route public: true & upstream headers: { X-A: b } → accepted
no audience & route public: true & upstream headers: { X-A: { by: t, values: { a: b } } }
  :13:18: routes[0].upstream.headers.X-A: by cannot be combined with public: true: there is no caller
upstream headers: { ${Array.from({ length: 17 }, (_, index) => `x${index}: a`).join(', ')} }
  :13:16: routes[0].upstream.headers: has 17 headers; at most 16 are sent
`);
});

test('a placeholder in identity is refused: it may stand for a secret', async () => {
  expect(await refused(edited(upstream('identity: { x-a: "${env:SECRET}" }')))).toEqual([
    ':13:24: routes[0].upstream.identity.x-a: "${env:SECRET}" is a placeholder, and the value is the name of a claim: write a name such as sub',
  ]);
});

describe('the entry of a caller', () => {
  const values =
    '{ acme: for-acme, "true": for-true, "7": for-7, "0.5": for-half, "9007199254740992": for-2-53, "null": no, "{}": no, "[]": no }';

  async function valueFor(tenant: string | undefined, by = 'tenant', more = ''): Promise<string | undefined> {
    const { routes } = await loaded({
      yaml: edited(upstream(`headers: { X-Key: { by: ${by}, values: ${values}${more} } }`)),
    });
    const claims = tenant === undefined ? '{}' : `{"tenant":${tenant},"org":{"tenant":${tenant}}}`;
    const [route] = routes;
    if (route === undefined) throw new Error('no route');
    return upstreamHeaders
      .of(route)
      ?.chosen[0]?.valueFor({ claims: JSON.parse(claims), exactClaims: parseExactly(claims) } as Principal);
  }

  test.each([
    ['"acme"', 'for-acme'],
    ['true', 'for-true'],
    ['7', 'for-7'],
    ['0.5', 'for-half'],
    ['"7"', 'for-7'],
    ['9007199254740992', 'for-2-53'],
    ['9007199254740993', undefined],
    ['"other"', undefined],
    ['"Acme"', undefined],
    ['"constructor"', undefined],
    ['null', undefined],
    ['{}', undefined],
    ['[]', undefined],
    ['["acme"]', undefined],
    [undefined, undefined],
  ])('%s → %s', async (tenant, wanted) => {
    expect(await valueFor(tenant)).toBe(wanted);
    expect(await valueFor(tenant, '/org/tenant')).toBe(wanted);
    expect(await valueFor(tenant, 'tenant', ', default: other')).toBe(wanted ?? 'other');
  });
});
