import { createServer as createPlain, type IncomingMessage } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listen } from '../../../demo/listen.ts';
import { createEgress, proxiesIn } from '../../../src/capabilities/egress/proxies.ts';
import type { EgressSettings } from '../../../src/capabilities/egress/slot.ts';
import { leadOwnRequests } from '../../../src/ports/own-requests.ts';
import { ownFetch } from '../../../src/tokens/servers/own-fetch.ts';
import { reasonOf } from '../../../src/core/lib/wording.ts';
import { createJsonFetcher } from '../../../src/tokens/servers/fetch-json.ts';
import { pem } from '../../support/certificates.ts';
import { type RecordingProxy, startRecordingProxy } from '../../support/http-proxy.ts';
import { forThisTest } from '../../support/start-before.ts';

const ca = pem('ca');
const seen: IncomingMessage[] = [];

/** Starts a server, and returns its URL under a name that only a proxy can resolve. */
async function startTarget(scheme: 'http' | 'https'): Promise<string> {
  const server = scheme === 'https' ? createSecure({ cert: pem('server'), key: pem('server-key') }) : createPlain();
  server.on('request', (incoming: IncomingMessage, response) => {
    seen.push(incoming);
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ path: incoming.url }));
  });
  const { url } = await forThisTest(listen(server, 0));
  return url.replace('http://127.0.0.1', `${scheme}://gateway.test`);
}

function lead(proxy: Pick<RecordingProxy, 'url'>, more: Partial<EgressSettings> = {}): void {
  const settings = { proxy: new URL(proxy.url), except: [], ca: undefined, ...more };
  leadOwnRequests(createEgress({ http: settings, https: settings }, []));
}

/** What two kinds of own requests get, or why they get nothing. */
async function asked(url: string): Promise<readonly unknown[]> {
  const fetcher = createJsonFetcher();
  try {
    return await Promise.all([
      fetcher.fetchJson(url, { timeoutMs: 20_000 }).then(({ body }) => body, reasonOf),
      ownFetch(url).then((answer) => answer.json(), reasonOf),
    ]);
  } finally {
    fetcher.close();
  }
}

beforeEach(() => void seen.splice(0));
afterEach(() => void leadOwnRequests(undefined));

describe('a request to an https target', () => {
  test('goes through a tunnel, and the proxy sees nothing but the name', async () => {
    const [proxy, target] = [await forThisTest(startRecordingProxy()), await startTarget('https')];
    lead(proxy, { ca });
    expect(await asked(`${target}/keys?secret=1`)).toEqual([{ path: '/keys?secret=1' }, { path: '/keys?secret=1' }]);
    const [connect] = proxy.requests;
    expect(connect).toEqual({ method: 'CONNECT', target: new URL(target).host, authorization: undefined });
    expect(seen.map(({ headers }) => [headers.host, headers['proxy-authorization']])).toEqual([
      [new URL(target).host, undefined],
      [new URL(target).host, undefined],
    ]);
  });

  test('keeps its tunnel for the next one', async () => {
    const [proxy, target] = [await forThisTest(startRecordingProxy()), await startTarget('https')];
    lead(proxy, { ca });
    const fetcher = createJsonFetcher();
    for (const path of ['/a', '/b']) await fetcher.fetchJson(target + path, { timeoutMs: 20_000 });
    expect(seen).toHaveLength(2);
    expect(proxy.requests).toHaveLength(1);
  });

  test('is refused where the target has a certificate of an unknown authority', async () => {
    const [proxy, target] = [await forThisTest(startRecordingProxy()), await startTarget('https')];
    lead(proxy);
    expect(await asked(target)).toEqual([
      expect.stringContaining('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ]);
    expect(seen).toEqual([]);
  });

  test('trusts the authorities of the request alone, if it names some', async () => {
    const [proxy, target] = [await forThisTest(startRecordingProxy()), await startTarget('https')];
    lead(proxy, { ca });
    await expect(ownFetch(target, { ca: pem('other-ca') })).rejects.toThrow('fetch failed');
    lead(proxy, { ca: pem('other-ca') });
    expect((await ownFetch(target, { ca })).status).toBe(200);
  });

  test.for([
    ['403 Forbidden\r\n\r\n', 'refused CONNECT TARGET (403)'],
    ['407 No\r\n\r\n', 'wants other credentials than those in its URL (407)'],
    // A 2xx whose next bytes are no answer of the target's.
    ['200 Yes\r\n\r\nsmuggled', 'refused CONNECT TARGET (200)'],
    [`200 Yes\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 'gave no answer to CONNECT TARGET (HPE_HEADER_OVERFLOW)'],
    ['what?\r\n\r\n', 'gave no answer to CONNECT TARGET (HPE_INVALID_STATUS)'],
  ] as const)('fails where the proxy answers CONNECT with %j', async ([text, expected]) => {
    const proxy = await forThisTest(startRecordingProxy({ answer: `HTTP/1.1 ${text}` }));
    const target = await startTarget('https');
    lead(proxy, { ca });
    const message = `the proxy ${proxy.url} ${expected.replace('TARGET', new URL(target).host)}`;
    expect(await asked(target)).toEqual([expect.stringContaining(message), message]);
    expect(seen).toEqual([]);
  });
});

test('a request to an http target is made by the proxy, with all of its URL', async () => {
  const proxy = await forThisTest(startRecordingProxy({ credentials: 'gw:s3cr3t%2Fpass' }));
  const target = await startTarget('http');
  lead({ url: proxy.url.replace('s3cr3t%2Fpass', encodeURIComponent('s3cr3t%2Fpass')) });
  expect(await asked(`${target}/keys?a=1`)).toEqual([{ path: '/keys?a=1' }, { path: '/keys?a=1' }]);
  const authorization = `Basic ${Buffer.from('gw:s3cr3t%2Fpass').toString('base64')}`;
  expect(proxy.requests).toEqual([
    { method: 'GET', target: `${target}/keys?a=1`, authorization },
    { method: 'GET', target: `${target}/keys?a=1`, authorization },
  ]);
});

test('a proxy gets its credentials, and a target never does', async () => {
  const proxy = await forThisTest(startRecordingProxy({ credentials: 'gateway:pr0xy-s3cr3t' }));
  const target = await startTarget('https');
  lead(proxy, { ca });
  expect(await asked(target)).toEqual([{ path: '/' }, { path: '/' }]);
  expect(JSON.stringify(seen.map(({ rawHeaders }) => rawHeaders))).not.toMatch(/proxy-|Basic/i);

  const wrong = new URL(proxy.url);
  wrong.password = 'wr0ng-s3cr3t';
  lead({ url: wrong.href }, { ca });
  const message = `the proxy ${wrong.origin} wants other credentials than those in its URL (407)`;
  expect(await asked(target)).toEqual([expect.stringContaining(message), message]);
});

test('an https proxy is trusted by `ca`', async () => {
  const proxy = await forThisTest(startRecordingProxy({ isSecure: true }));
  const [secure, plain] = [await startTarget('https'), await startTarget('http')];
  lead(proxy, { ca });
  expect(await asked(secure)).toEqual([{ path: '/' }, { path: '/' }]);
  expect(await asked(plain)).toEqual([{ path: '/' }, { path: '/' }]);
  expect(new Set(proxy.requests.map(({ method }) => method))).toEqual(new Set(['CONNECT', 'GET']));

  lead(proxy);
  const message = `the proxy ${proxy.url} cannot be reached (UNABLE_TO_VERIFY_LEAF_SIGNATURE)`;
  for (const target of [secure, plain]) {
    expect(await asked(target)).toEqual([expect.stringContaining(message), message]);
  }
});

test('a request whose proxy cannot be reached goes no other way', async () => {
  const proxy = await startRecordingProxy();
  await proxy.close();
  const target = await forThisTest(listen(createPlain(), 0));
  // It could be reached directly.
  const url = target.url.replace('127.0.0.1', '0.0.0.0');
  lead(proxy);
  const message = `the proxy ${proxy.url} cannot be reached (ECONNREFUSED)`;
  expect(await asked(url)).toEqual([expect.stringContaining(message), message]);
});

describe('a target is reached directly', () => {
  const except = ['idp.internal', '.corp', '10.0.0.0/8', '2001:db8::/32', '192.0.2.7'];
  const settings = { proxy: new URL('http://proxy:3128'), except, ca: undefined };
  const { agentFor } = createEgress({ http: settings, https: settings }, ['https://front.door:9000']);
  const isDirect = (url: string): boolean => agentFor(new URL(url)) === undefined;

  test.for([
    'https://idp.internal/x',
    'http://IDP.internal:8080/',
    'https://idp.internal./',
    'https://a.corp/',
    'https://a.b.corp/',
    'https://10.1.2.3/',
    'https://10.0x1.2.3/',
    'https://[::ffff:10.1.2.3]/',
    'https://[2001:db8::1]/',
    'http://192.0.2.7/',
    'https://front.door:9000/introspect',
    'http://127.0.0.1:9000/',
    'http://127.8.8.8/',
    'http://[::1]/',
    'http://localhost/',
    'http://a.localhost/',
  ])('%s', (url) => {
    expect(isDirect(url)).toBe(true);
  });

  test.for([
    'https://sub.idp.internal/',
    'https://notidp.internal/',
    'https://corp/',
    'https://acorp/',
    'https://11.0.0.1/',
    'https://10.example/',
    'https://192.0.2.70/',
    'https://front.door/',
    'http://front.door:9000/',
    'https://localhost.example/',
  ])('but not %s', (url) => {
    expect(isDirect(url)).toBe(false);
  });
});

describe('the environment', () => {
  const way = (env: NodeJS.ProcessEnv, url: string): string | undefined => {
    const { agentFor, proxies } = createEgress(proxiesIn(env), []);
    const target = new URL(url);
    return agentFor(target) && proxies[target.protocol === 'https:' ? 'https' : 'http'];
  };

  test.for([
    [{ HTTPS_PROXY: 'http://a:1' }, 'https://x.test/', 'http://a:1'],
    [{ HTTPS_PROXY: 'http://a:1' }, 'http://x.test/', undefined],
    [{ HTTP_PROXY: 'http://a:1' }, 'http://x.test/', 'http://a:1'],
    [{ HTTP_PROXY: 'http://a:1' }, 'https://x.test/', undefined],
    [{ https_proxy: 'http://a:1', HTTPS_PROXY: 'http://b:1' }, 'https://x.test/', 'http://a:1'],
    [{ https_proxy: '', HTTPS_PROXY: 'http://b:1' }, 'https://x.test/', 'http://b:1'],
    [{ HTTPS_PROXY: 'a:1' }, 'https://x.test/', 'http://a:1'],
    [{ HTTPS_PROXY: 'http://u:p@a:1/' }, 'https://x.test/', 'http://a:1'],
    [{ HTTPS_PROXY: '' }, 'https://x.test/', undefined],
    [{ HTTPS_PROXY: 'http://a:1' }, 'https://localhost/', undefined],
  ] as const)('%j: %s', ([env, url, proxy]) => {
    expect(way(env, url)).toBe(proxy);
  });

  test.for([
    ['x.test', 'https://x.test/', true],
    ['x.test', 'https://a.x.test/', true],
    ['.x.test', 'https://x.test/', true],
    ['*.x.test', 'https://a.x.test/', true],
    ['x.test', 'https://ax.test/', false],
    ['y.test, x.test', 'https://x.test/', true],
    ['y.test x.test', 'https://x.test/', true],
    ['x.test:8443', 'https://x.test:8443/', true],
    ['x.test:8443', 'https://x.test/', false],
    ['10.0.0.0/8', 'https://10.9.9.9/', true],
    ['10.0.0.1', 'https://10.0.0.1/', true],
    ['*', 'https://x.test/', true],
    ['', 'https://x.test/', false],
    ['300.0.0.0/99', 'https://x.test/', false],
    ['10.0.0.0/99', 'https://x.test/', false],
  ] as const)('NO_PROXY=%s: %s', ([list, url, isDirect]) => {
    for (const name of ['NO_PROXY', 'no_proxy'])
      expect(way({ HTTPS_PROXY: 'http://a:1', [name]: list }, url) === undefined).toBe(isDirect);
  });

  test('names a proxy that is none: requests fail, and go no other way', async () => {
    const env = { HTTPS_PROXY: 'socks5://u:s3cr3t-word@a:1', HTTP_PROXY: 'socks5://u:s3cr3t-word@a:1' };
    leadOwnRequests(createEgress(proxiesIn(env), []));
    for (const scheme of ['http', 'https']) {
      const why = await ownFetch(`${scheme}://0.0.0.0:1/`).then(String, reasonOf);
      expect(why).toMatch(/^HTTPS?_PROXY is the URL of a SOCKS proxy, which is not supported/);
      expect(why).not.toContain('s3cr3t-word');
    }
  });
});
