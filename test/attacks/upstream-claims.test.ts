import { describe, expect, test } from 'vitest';
import { startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { head, lastHead, startRawUpstream } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { handshake } from './requests.ts';

/** The bytes of its answer. */
let answer = '';
const upstream = startBeforeAll(() => startRawUpstream(({ socket }) => socket.end(answer)));
const world = startBeforeAll(() =>
  startAttackWorld({
    routes: [route('raw', ''), route('files', ', allow_response_headers: [x-accel-redirect]')],
  }),
);

function route(name: string, more: string): string {
  const trust = 'audience: "https://api.example", authorization_servers: [main], upgrade: websocket';
  return `name: ${name}, path: /${name}, ${trust}, upstream: { url: "${upstream.url}"${more} }`;
}

/** For the key of {@link handshake}, RFC 6455 §4.2.2. */
const accept = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';
const switching = ['Connection: Upgrade, x-hop', 'Upgrade: websocket', `Sec-WebSocket-Accept: ${accept}`];

/** Each of them is the gateway's to say, or about another connection. */
const claims = [
  'WWW-Authenticate: Bearer resource_metadata="https://evil.example/.well-known/oauth-protected-resource"',
  'DPoP-Nonce: evil',
  'Access-Control-Allow-Origin: https://evil.example',
  'Access-Control-Allow-Credentials: true',
  'Proxy-Authenticate: Basic realm="evil"',
  'Proxy-Authentication-Info: evil',
  'Keep-Alive: timeout=evil',
  'Trailer: evil',
  'X-Hop: evil',
  'X-Accel-Redirect: /evil',
  'X-Sendfile: /evil',
  'x-lighttpd-send-file: /evil',
  'X-Reproxy-URL: http://evil.example',
  'X-Reproxy-File: /evil',
  'X-LiteSpeed-Location: /evil',
  'Clear-Site-Data: "*", "evil"',
  'Alt-Svc: h3="evil.example:443"',
];
const kept = ['X-Kept: 1', 'Set-Cookie: a=1', 'Set-Cookie: b=2', 'X-Twice: 1', 'X-Twice: 2'];

function answerOf(status: string, ...fields: readonly string[]): string {
  return [`HTTP/1.1 ${status}`, ...fields, ...claims, ...kept, '', ''].join('\r\n');
}

const page = 'Origin: http://gateway.test';
const handshakes = ['Connection: Upgrade', ...handshake];
const text = `Content-Length: ${UPSTREAM_TEXT.length}`;

describe.each([
  ['a plain request', (): string => lastHead('GET /raw', world.authorization, page)],
  ['a WebSocket handshake', (): string => head('GET /raw', world.authorization, page, ...handshakes)],
])('the answer to %s', (what, request) => {
  const switches = what === 'a WebSocket handshake' ? ['101 Switching Protocols'] : [];
  test.each([...switches, '200 OK', '401 Unauthorized', '403 Forbidden'])(
    'of %s cannot set fields of the gateway',
    async (status) => {
      const isSwitch = status.startsWith('101');
      answer = isSwitch
        ? answerOf(status, ...switching, 'Content-Length: 3')
        : answerOf(status, 'Connection: x-hop', text) +
          (status === '200 OK' ? UPSTREAM_TEXT : 'x'.repeat(UPSTREAM_TEXT.length));
      const { answers } = await world.withstand(request(), {
        statuses: [Number.parseInt(status, 10)],
        reasons: ['allow'],
      });
      const section = answers[0]?.split('\r\n\r\n')[0] ?? '';
      expect(section).not.toMatch(/evil/);
      expect(section).not.toMatch(/^(?:www-authenticate|dpop-nonce|proxy-[^:]*|keep-alive|trailer|x-hop):/im);
      expect(section).toMatch(/^access-control-allow-origin: http:\/\/gateway\.test\r?$/im);
      expect(section.match(/^(?:x-kept: 1|set-cookie: a=1|set-cookie: b=2|x-twice: [12])\r?$/gim)).toHaveLength(5);
      const connection = section.match(/^connection:.*$/gim)?.map((line) => line.trim().toLowerCase());
      expect(connection).toEqual([isSwitch ? 'connection: upgrade' : 'connection: close']);
      if (!isSwitch) return;
      expect(section).toMatch(/^upgrade: websocket\r?$/im);
      expect(section).toMatch(new RegExp(`^sec-websocket-accept: ${accept.replaceAll('+', '\\+')}\r?$`, 'im'));
      // RFC 9110 §8.6.
      expect(section).not.toMatch(/^content-length:/im);
    },
  );
});

test.each([
  ['a plain request', [], '200 OK'],
  ['a WebSocket handshake', handshakes, '101 Switching Protocols'],
] as const)(
  'removes CORS fields of an upstream from its answer to %s without an Origin',
  async (_what, more, status) => {
    answer = answerOf(status, ...(more.length === 0 ? ['Content-Length: 0', 'Connection: close'] : switching));
    const request = (more.length === 0 ? lastHead : head)('GET /raw', world.authorization, ...more);
    const { answers } = await world.withstand(request, {
      statuses: [Number.parseInt(status, 10)],
      reasons: ['allow'],
    });
    // A browser may keep the answer, and show it to a page of that origin later.
    expect(answers[0]).not.toMatch(/^access-control-/im);
  },
);

/** Answers to each kind of request, which must come to 502. */
const framings = [
  ['gzip, chunked', ['Transfer-Encoding: gzip, chunked', '', '1', 'x', '0', '', '']],
  ['chunked, gzip', ['Transfer-Encoding: chunked, gzip', '', 'x']],
  ['identity', ['Transfer-Encoding: identity', '', 'x']],
  ['chunked twice in a list', ['Transfer-Encoding: chunked, chunked', '', '1', 'x', '0', '', '']],
  ['chunked twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked', '', '1', 'x', '0', '', '']],
  ['chunked, and a length', ['Transfer-Encoding: chunked', 'Content-Length: 1', '', '1', 'x', '0', '', '']],
  ['two equal lengths', ['Content-Length: 1', 'Content-Length: 1', '', 'x']],
  ['a list of lengths', ['Content-Length: 1, 1', '', 'x']],
  ['two lengths', ['Content-Length: 1', 'Content-Length: 2', '', 'xx']],
] as const;

describe.each([
  ['a plain request', (target: string): string => lastHead(`GET ${target}`, world.authorization)],
  ['a WebSocket handshake', (target: string): string => head(`GET ${target}`, world.authorization, ...handshakes)],
])('the answer to %s', (_what, request) => {
  test.each(framings)('is 502 if it is framed by %s', async (coding, lines) => {
    answer = ['HTTP/1.1 200 OK', ...lines].join('\r\n');
    const { answers } = await world.withstand(request('/raw'), { statuses: [502], reasons: ['allow'] });
    expect(answers[0]).not.toMatch(/^transfer-encoding/im);
    expect(await world.gateway.line({ msg: 'request failed' })).toMatchObject({
      // undici calls two lengths a body of another length.
      reason: expect.stringMatching(
        /lengths/.test(coding) ? /^upstream\.(?:invalid|unreachable)$/ : /^upstream\.invalid$/,
      ),
    });
  });

  test.each(['Content-Length: 4', 'Transfer-Encoding: chunked'])(
    'has no length and no body if it is a 204 with %s',
    async (field) => {
      answer = `HTTP/1.1 204 No Content\r\n${field}\r\nX-Kept: 1\r\n\r\n4\r\nevil\r\n0\r\n\r\n`;
      const { answers } = await world.withstand(request('/raw'), { statuses: [204], reasons: ['allow'] });
      expect(answers[0]).toMatch(/^x-kept: 1\r$/im);
      expect(answers[0]).not.toMatch(/^(?:content-length|transfer-encoding)/im);
      expect(answers[0]).toMatch(/\r\n\r\n$/);
    },
  );

  test('instructs proxies before the gateway only as the operator allows', async () => {
    answer = ['HTTP/1.1 200 OK', 'Content-Length: 1', 'X-Accel-Redirect: /x', 'X-Sendfile: /x', '', 'x'].join('\r\n');
    const { answers } = await world.withstand(request('/files'), { statuses: [200], reasons: ['allow'] });
    expect(answers[0]).toMatch(/^x-accel-redirect: \/x\r$/im);
    expect(answers[0]).not.toMatch(/^x-sendfile/im);
  });
});

test.each(['', 'Connection: Upgrade', 'Upgrade: websocket'])(
  'answers 502 to a 101 without a valid switch: %s',
  async (field) => {
    const fields = ['X-Kept: 1', ...(field === '' ? [] : [field])];
    answer = ['HTTP/1.1 101 Switching Protocols', ...fields, '', UPSTREAM_TEXT].join('\r\n');
    const { answers } = await world.withstand(head('GET /raw', world.authorization, ...handshakes), {
      statuses: [502],
      reasons: ['allow'],
    });
    expect(answers[0]).not.toMatch(/^x-kept/im);
    expect(await world.gateway.line({ msg: 'request failed' })).toMatchObject({ reason: 'upstream.invalid' });
  },
);
