import { glob, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refusals } from '../../src/model/reasons.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { sectionsOf } from './page.ts';

const sections = await sectionsOf('troubleshooting.md');
const page = [...sections].map(([heading, text]) => `${heading}\n${text}`).join('\n');
const configuration = await readFile('docs/configuration.md', 'utf8');

test('every name with a dot is a reason or a key that exists', () => {
  const names = new Set([...page.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, name = '']) => name));
  expect(names.size).toBeGreaterThan(40);
  const unknown = [...names].filter((name) => !Object.hasOwn(refusals, name) && !configuration.includes(`${name}\``));
  expect(unknown).toEqual(['gateway.log', 'token.txt'].filter((name) => names.has(name)));
});

test('every metric that is named exists', async () => {
  const metrics = await readFile('src/telemetry/metrics.ts', 'utf8');
  for (const [, name = ''] of page.matchAll(/`(sallyport_\w+)/g)) expect(metrics).toContain(` ${name}: {`);
});

const clients = {
  sdk: 'node_modules/@modelcontextprotocol/sdk/dist/esm/client/*.js',
  client: 'node_modules/@modelcontextprotocol/client/dist/*.mjs',
  inspector: 'node_modules/@modelcontextprotocol/inspector-client/dist/assets/*.js',
} as const;

test.each(Object.entries(clients))('what is quoted of (%s) stands in its package', async (name, files) => {
  const quotes = [...page.matchAll(/`([^`]+)`[\s]+\((\w+)\)(?:, the same\s+\((\w+)\))?/g)]
    .filter(([, , own, same]) => own === name || same === name)
    .map(([, quote = '']) => quote);
  expect(quotes.length).toBeGreaterThan(0);
  let source = '';
  for await (const file of glob(files)) source += await readFile(file, 'utf8');
  const parts = quotes.flatMap((quote) => quote.split('…').map((part) => part.trim()));
  expect(parts.filter((part) => !source.includes(part))).toEqual([]);
});

test('what is quoted of the gateway is what it says', async () => {
  const messages = new Set<string>(Object.values(refusals).map(({ message }) => message));
  const quoted = ['Access denied', 'Session not found', 'Unsupported media type', 'Unsupported content encoding'];
  for (const message of [...quoted, 'Origin not allowed', 'Host not allowed']) {
    expect(page).toContain(message);
    expect(messages).toContain(message);
  }
  const reload = await readFile('src/serve/start.ts', 'utf8');
  expect(reload).toContain('configuration refused; still running the previous configuration');
  const codes = [...page.matchAll(/^\| (-32\d{3}) +\| `([a-z_.]+)`(?:, `([a-z_.]+)`)?/gm)];
  expect(codes).toHaveLength(9);
  for (const [, code, ...reasons] of codes) {
    for (const reason of reasons.filter(Boolean)) {
      expect(refusals[reason as keyof typeof refusals]).toMatchObject({ status: 400, code: Number(code) });
    }
  }
  for (const [, status, reasons = ''] of page.matchAll(/^\| (50\d) +\| ([^|]+)\|/gm)) {
    for (const [, reason = ''] of reasons.matchAll(/`([^`]+)`/g)) {
      expect(refusals[reason as keyof typeof refusals].status).toBe(Number(status));
    }
  }
});

let issuer: Issuer;
let upstream: Upstream;
let gateway: TestGateway;
beforeAll(async () => {
  issuer = await startIssuer();
  upstream = await startUpstream((request, response) => {
    response.writeHead(request.headers['x-answer'] === '401' ? 401 : 200).end();
  });
  gateway = await startTestGateway({
    publicUrl: 'http://127.0.0.1',
    yaml: `
authorization_servers: { main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, policy: tools, upstream: { url: ${upstream.url} } }
  - { name: gone, path: /gone, audience: gone, upstream: { url: 'http://127.0.0.1:9' } }
`,
    policies: { tools: 'scope: read\ntools: { get: {}, pay: { scope: pay } }\n' },
  });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([issuer.close(), upstream.close()]);
});

const good = { aud: 'http://127.0.0.1/mcp', scope: 'read' };
/** Signed by the same key, as ID tokens are. */
const idToken: Attempt = { claims: { nonce: 'n', at_hash: 'h' }, header: { typ: 'JWT' } };
const now = Math.floor(Date.now() / 1000);
const call = (tool: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool } });

/** Section → what a client does → the reason that the log must have, as the section says. */
const cases: readonly (readonly [section: string, what: string, reason: string, status: number, Attempt])[] = [
  ['"Server returned 403 after trying upscoping"', 'no scope', 'scope.insufficient', 403, { tool: 'pay' }],
  ['401 although the token is fresh', 'no header', 'credentials.missing', 401, { token: '' }],
  ['401 although the token is fresh', 'a slash more', 'token.audience', 401, { claims: { aud: `${good.aud}/` } }],
  ['401 although the token is fresh', 'an issuer with a slash', 'token.issuer', 401, { claims: { iss: 'slash' } }],
  ['401 although the token is fresh', 'an ID token', 'token.type', 401, idToken],
  ['401 although the token is fresh', 'an odd typ', 'token.type', 401, { header: { typ: 'odd+jwt' } }],
  ['401 although the token is fresh', 'an opaque one', 'token.form', 401, { token: 'opaque' }],
  ['401 although the token is fresh', 'an old one', 'token.expired', 401, { claims: { exp: now - 60 } }],
  ['401 although the token is fresh', 'a clock ahead', 'token.not_yet_valid', 401, { claims: { nbf: now + 600 } }],
  ['401 although the token is fresh', 'an unknown key', 'token.key', 401, { header: { kid: 'unknown' } }],
  ['401 although the token is fresh', 'bound', 'token.sender_constrained', 401, { claims: { cnf: { jkt: 'x' } } }],
  ['403 without a challenge', 'a new tool', 'tool.unlisted', 403, { tool: 'new' }],
  ['404 "Session not found"', 'a foreign session', 'session.unknown', 404, { headers: { 'mcp-session-id': 'x' } }],
  ['404 "Session not found"', 'a trailing slash', 'route.unknown', 404, { path: '/mcp/' }],
  ['404 "Session not found"', 'no such path', 'route.unknown', 404, { path: '/nowhere' }],
  ['400 with a JSON-RPC code', 'a batch', 'body.message', 400, { body: `[${call('get')}]` }],
  ['400 with a JSON-RPC code', 'no JSON', 'body.malformed', 400, { body: '{' }],
  ['400 with a JSON-RPC code', 'another version', 'message.version', 400, version('2099-01-01')],
  ['400 with a JSON-RPC code', 'no _meta', 'message.meta', 400, version('2026-07-28')],
  ['400 with a JSON-RPC code', 'also in the query', 'request.credentials', 400, { path: '/mcp?access_token=x' }],
  ['400 with a JSON-RPC code', 'a query', 'route.query', 400, { path: '/mcp?x=y' }],
  ['400 with a JSON-RPC code', '//', 'request.path', 400, { path: '//mcp' }],
  ['415', 'curl -d', 'body.type', 415, { headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
  ['415', 'compressed', 'body.encoding', 415, { headers: { 'content-encoding': 'gzip' } }],
  [
    '"Origin not allowed", "Host not allowed"',
    'a page',
    'request.origin',
    403,
    { headers: { origin: 'https://x.example' } },
  ],
  ['"Origin not allowed", "Host not allowed"', 'a name', 'request.host', 403, { headers: { host: 'x.example' } }],
  [
    '502, 503, 504',
    'an upstream that is down',
    'upstream.unreachable',
    502,
    { path: '/gone', claims: { aud: 'gone' } },
  ],
  ['502, 503, 504', 'its own 401', 'upstream.invalid', 502, { headers: { 'x-answer': '401' } }],
];

interface Attempt {
  readonly tool?: string;
  readonly token?: string;
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
  readonly path?: string;
  readonly body?: string;
}

function version(revision: string): Attempt {
  return { headers: { 'mcp-protocol-version': revision, 'mcp-method': 'tools/call', 'mcp-name': 'get' } };
}

test.each(cases)('%s: %s is %s', async (section, _what, reason, status, attempt) => {
  expect(sections.get(section)).toContain(`\`${reason}\``);
  const { tool = 'get', path = '/mcp', body = call(tool), claims, header, headers } = attempt;
  const token = attempt.token ?? (await issuer.sign({ ...good, ...claims }, { ...(header && { header }) }));
  await gateway.clearLog();
  const answer = await raw(
    path,
    {
      host: '127.0.0.1',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body,
  );
  expect(answer).toContain(`HTTP/1.1 ${status} `);
  await gateway.line({ reason });
});

/** `fetch` would set Host itself and tidy the path up. */
async function raw(path: string, headers: Record<string, string>, body: string): Promise<string> {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').setEncoding('utf8');
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  let answer = '';
  socket.on('data', (text) => (answer += String(text)));
  await once(socket, 'close');
  return answer;
}
