import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { networkInterfaces } from 'node:os';
import { beforeEach, describe, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startIssuer } from '../support/issuer.ts';
import { exchangeRaw, lastHead } from '../support/raw.ts';
import { startUpstream } from '../support/upstream.ts';
import { startBeforeAll } from '../support/start-before.ts';

const TOKEN = 'Kx7-admin-token-of-the-tests';
const paths = ['/', '/console.json', '/readyz', '/metrics', '/sign-in', '/elsewhere'];
/** What a caller reads only with the token: routes, authorization servers, denials. */
const DETAIL = /authorization_servers|"routes"|<title>Sallyport</;

let now = Date.parse('2026-01-01T00:00:00Z');

const issuer = startBeforeAll(startIssuer);
const upstream = startBeforeAll(startUpstream);
const yaml = (): string => `
authorization_servers: { main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } } }
routes: [{ name: open, path: /, public: true, upstream: { url: ${upstream.url} } }]
`;
const gateway = startBeforeAll(() => startTestGateway({ yaml: yaml() }));
const withToken = startBeforeAll(() => {
  const admin = `{ listen: 127.0.0.1:0, hosts: [prometheus.internal], token: "${TOKEN}" }`;
  return startTestGateway({ yaml: yaml(), admin, clock: () => now });
});
// Wrong tokens of one test do not count in the next.
beforeEach(() => (now += 3_600_000));

/** Asks the admin listener with exactly these header lines. */
async function ask(to: TestGateway, start: string, ...lines: readonly string[]) {
  const head = [`${start} HTTP/1.1`, ...lines, 'Content-Length: 0', 'Connection: close', '', ''];
  const text = await exchangeRaw(to.adminUrl, head.join('\r\n'));
  return { status: Number(text.slice(9, 12)), text };
}

const bearer = `Authorization: Bearer ${TOKEN}`;
const host = 'Host: gateway:9090';

/** The cookie that signing in gives, as a browser sends it back. */
async function signedIn(): Promise<string> {
  const lines = ['Origin: http://gateway:9090', 'Sec-Fetch-Site: same-origin', bearer];
  const { status, text } = await ask(withToken, 'POST /sign-in', host, ...lines);
  expect(status).toBe(204);
  return /^set-cookie: ([^;]+)/im.exec(text)?.[1] ?? '';
}

describe('a web page that binds its name to the admin listener’s address', () => {
  // test/serve/admin/host-rule.test.ts has the table of names.
  const names = ['evil.example:9090', '127.0.0.1.evil.example', 'localhost:9090@evil.example', ''];
  test.each(paths)('reads nothing at %s', async (path) => {
    for (const host of names) {
      for (const credential of ['Accept: text/html', `Authorization: Bearer ${TOKEN}`]) {
        const { status, text } = await ask(withToken, `GET ${path}`, `Host: ${host}`, credential);
        expect([host, status]).toEqual([host, 403]);
        expect(text).not.toMatch(DETAIL);
        expect((await ask(gateway, `GET ${path}`, `Host: ${host}`, credential)).status).toBe(403);
      }
    }
  });

  test('reads nothing with two Hosts, without one, or with another in the request line', async () => {
    for (const path of paths) {
      expect((await ask(gateway, `GET ${path}`, 'Host: localhost', 'Host: evil.example')).status).toBe(400);
      expect((await ask(gateway, `GET ${path}`)).status).toBe(400);
      expect((await ask(gateway, `GET http://evil.example${path}`, 'Host: localhost')).status).toBe(404);
      expect(await exchangeRaw(gateway.adminUrl, `GET ${path} HTTP/1.0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 403 /);
    }
  });

  test('learns from /healthz only that the process is alive', async () => {
    const { status, text } = await ask(gateway, 'GET /healthz', 'Host: evil.example');
    expect([status, text]).toEqual([200, expect.stringContaining('\r\n{"status":"ok"}\r\n')]);
    expect(text).not.toMatch(/access-control-allow/i);
  });
});

describe('a compromised upstream that reaches the admin listener', () => {
  test.each(['/', '/console.json', '/elsewhere'])('cannot read %s without the token', async (path) => {
    const missing = await ask(withToken, `GET ${path}`, 'Host: gateway:9090');
    expect([missing.status, missing.text]).toEqual([401, expect.stringMatching(/^www-authenticate: Bearer\r$/im)]);
    const unset = await ask(gateway, `GET ${path}`, 'Host: gateway:9090');
    expect([unset.status, unset.text]).toEqual([
      403,
      expect.stringContaining('the running gateway has no admin.token'),
    ]);
  });

  test.each([
    ['an address', 'Host: 172.18.0.3:9090'],
    ['a name of admin.hosts', 'Host: Prometheus.Internal.:9090'],
    ['loopback, for a machine that a proxy names', 'Host: 127.0.0.1:9090', 'X-Forwarded-For: 172.18.0.4'],
    ['loopback, by a proxy', 'Host: localhost', 'Via: 1.1 proxy'],
  ])('cannot read anything with the method %s', async (_title, ...lines) => {
    const { status, text } = await ask(withToken, 'GET /console.json', ...lines);
    expect([status, text]).toEqual([401, expect.not.stringMatching(DETAIL)]);
  });

  test('reads the metrics and the bare status of /readyz, as probes do', async () => {
    for (const to of [gateway, withToken]) {
      const ready = await ask(to, 'GET /readyz', 'Host: gateway:9090');
      expect([ready.status, ready.text]).toEqual([200, expect.not.stringMatching(DETAIL)]);
      expect(ready.text).toMatch(/^(?:[^\r\n]+\r\n)+\r\n(?:0\r\n\r\n)?$/);
      expect((await ask(to, 'GET /metrics', 'Host: gateway:9090')).text).toContain('sallyport_config_info');
    }
  });

  const other = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal);
  test.skipIf(other === undefined)('is refused even if its Host says loopback', async () => {
    const from = other?.address;
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      const options = { headers: { host }, localAddress: from, agent: false };
      const request = get(`${withToken.adminUrl}/console.json`, options);
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      expect(response.resume().statusCode).toBe(401);
    }
  });
});

describe('a caller that guesses the token', () => {
  const guess = (token: string, path = '/readyz') =>
    ask(withToken, `GET ${path}`, 'Host: gateway:9090', `Authorization: Bearer ${token}`);

  test('has ten guesses a minute over all pages; after them, the right token is refused too', async () => {
    const guesses = [TOKEN.slice(1), `${TOKEN}x`, TOKEN.toUpperCase(), `"${TOKEN}"`, 'x'];
    const pages = ['/', '/readyz', '/console.json', '/elsewhere'];
    await withToken.clearLog();
    for (let i = 0; i < 10; i += 1) {
      const { status, text } = await guess(guesses[i % guesses.length] ?? '', pages[i % pages.length]);
      expect(status).toBe(401);
      expect(text).toMatch(/^www-authenticate: Bearer error="invalid_token"\r$/im);
    }
    const late = await guess(TOKEN);
    expect([late.status, late.text]).toEqual([429, expect.stringMatching(/^retry-after: 6\r$/im)]);
    const logged = (await withToken.lines()).filter(({ msg }) => msg === 'a wrong admin token was presented');
    expect(logged).toHaveLength(10);
    now += 6_000;
    expect((await guess(TOKEN)).status).toBe(200);
  });

  test('gains nothing from parallel guesses', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => guess(`wrong-${i}`)));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
  });

  test('does not end the session of an operator behind the same address', async () => {
    const cookie = await signedIn();
    for (let i = 0; i < 11; i += 1) await guess(`wrong-${i}`);
    expect((await ask(withToken, 'GET /', 'Host: gateway:9090', `Cookie: ${cookie}`)).status).toBe(200);
  });

  test('uses up no guesses by calls with the right token', async () => {
    for (let i = 0; i < 20; i += 1) expect((await guess(TOKEN)).text).toMatch(DETAIL);
  });
});

describe('a session cookie', () => {
  const read = async (cookie: string) =>
    (await ask(withToken, 'GET /console.json', 'Host: gateway:9090', `Cookie: ${cookie}`)).status;

  test('is hidden from scripts and other sites, and expires after eight hours', async () => {
    const secure = ['Host: gateway:443', 'Origin: https://gateway:443', bearer];
    const { text } = await ask(withToken, 'POST /sign-in', ...secure);
    expect(text).toMatch(
      /^set-cookie: sallyport_admin=[^;]+; Path=\/; Max-Age=28800; HttpOnly; SameSite=Strict; Secure\r$/im,
    );
    const cookie = await signedIn();
    expect(await read(cookie)).toBe(200);
    now += 8 * 3_600_000 - 1_000;
    expect(await read(`other=1; ${cookie}`)).toBe(200);
    now += 1_000;
    expect(await read(cookie)).toBe(401);
  });

  test('is refused when any part of it is changed', async () => {
    const cookie = await signedIn();
    const [name = '', value = ''] = cookie.split('=');
    const [expiry = '', mac = ''] = value.split('.');
    const forged = [
      `${Number(expiry) + 1}.${mac}`,
      `0${expiry}.${mac}`,
      expiry,
      `${expiry}.`,
      `${expiry}.${mac}=`,
      `${expiry}.${mac.slice(0, -1)}`,
      `${expiry}.${mac.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))}`,
      `.${mac}`,
      `"${value}"`,
      '',
    ];
    for (const each of forged) expect([each, await read(`${name}=${each}`)]).toEqual([each, 401]);
    expect(await read(`${name}=x; ${cookie}`)).toBe(200);
  });

  test('never reaches an upstream, although browsers send it to every port of the host', async () => {
    const cookie = await signedIn();
    upstream.seen.length = 0;
    for (const field of [cookie, `a=1; ${cookie};b=2`, 'a=sallyport_admin'])
      await exchangeRaw(withToken.url, lastHead('GET /', `Cookie: ${field}`));
    expect(upstream.seen.map(({ headers }) => headers['cookie'])).toEqual([undefined, 'a=1; b=2', 'a=sallyport_admin']);
  });
});

describe('another site that signs in through an operator’s browser', () => {
  test.each([
    ['another site', 'Origin: http://evil.example', 'Sec-Fetch-Site: cross-site'],
    ['another port of the host', 'Origin: http://gateway:8080', 'Sec-Fetch-Site: same-site'],
    ['no origin', 'Accept: */*'],
    ['an opaque origin', 'Origin: null'],
    ['an origin that the browser calls another', 'Origin: http://gateway:9090', 'Sec-Fetch-Site: same-site'],
  ])('is refused from %s, even with the right token', async (_title, ...lines) => {
    for (const token of [TOKEN, 'wrong']) {
      const { status, text } = await ask(withToken, 'POST /sign-in', host, `Authorization: Bearer ${token}`, ...lines);
      expect([status, text]).toEqual([403, expect.not.stringMatching(/set-cookie/i)]);
    }
  });

  test('is refused on loopback without the right token', async () => {
    for (const credential of ['Authorization: Bearer wrong', 'Authorization: Basic eDp5', 'Accept: */*']) {
      const lines = ['Host: localhost', 'Origin: http://localhost', credential];
      const { status, text } = await ask(withToken, 'POST /sign-in', ...lines);
      expect([status, text]).toEqual([401, expect.not.stringMatching(/set-cookie/i)]);
    }
  });
});

test('forbids other sites to frame, store, sniff or read any answer', async () => {
  for (const path of ['/healthz', ...paths]) {
    for (const to of [gateway, withToken]) {
      for (const host of ['localhost', 'gateway', 'evil.example']) {
        const foreign = [`Host: ${host}`, 'Accept: text/html', 'Origin: http://evil.example'];
        const { text } = await ask(to, `GET ${path}`, ...foreign);
        for (const header of [
          /^content-security-policy: default-src 'none';.*frame-ancestors 'none'\r$/im,
          /^cache-control: no-store\r$/im,
          /^x-content-type-options: nosniff\r$/im,
          /^referrer-policy: no-referrer\r$/im,
          /^cross-origin-resource-policy: same-origin\r$/im,
        ])
          expect(text).toMatch(header);
        expect(text).not.toMatch(/access-control-allow/i);
      }
    }
  }
});
