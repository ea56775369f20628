import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { exchangeRaw, head } from '../../support/raw.ts';
import { startUpstream, type Upstream } from '../../support/upstream.ts';
import { tlsLine } from '../../support/certificates.ts';
import { type RoutesWorld, startRoutesWorld } from '../../worlds/routes.ts';

describe.each([
  ['http', ''],
  ['https', tlsLine()],
])('%s', (_scheme, tls) => {
  let upstream: Upstream;
  let world: RoutesWorld;
  beforeAll(async () => {
    upstream = await startUpstream();
    world = await startRoutesWorld(
      [
        `name: public, path: /public, public: true, upstream: { url: ${upstream.url}/public }`,
        `name: admin, path: /admin, upstream: { url: ${upstream.url}/admin }`,
      ],
      `${tls}limits: { request_headers: 64KiB }\n`,
    );
  });
  afterAll(async () => {
    await world.close();
    await upstream.close();
  });
  beforeEach(async () => {
    upstream.seen.length = 0;
    await world.clearLog();
  });

  async function status(bytes: string): Promise<number> {
    const received = await exchangeRaw(world.url, bytes.replace('\r\n', '\r\nConnection: close\r\n'));
    return Number([...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].at(-1)?.[1]);
  }

  describe('targets', () => {
    test.each([
      ['GET http://gateway.test/public', 400, 'request.target'],
      ['GET https://evil/admin', 400, 'request.target'],
      ['OPTIONS *', 400, 'request.target'],
      ['OPTIONS http://[', 400, 'request.malformed|request.target'],
      ['GET http://[', 400, 'request.malformed|request.target'],
      ['GET *', 400, 'request.target'],
      ['GET public', 400, 'request.malformed|request.target'],
      ['GET gateway.test:80', 400, 'request.malformed|request.target'],
      ['CONNECT gateway.test:80', 400, 'request.target'],
      ['CONNECT /public', 400, 'request.malformed|request.target'],
      ['CONNECT http://gateway.test/public', 400, 'request.malformed|request.target'],
      ['GET /public#x', 400, 'request.path'],
      ['GET /public?x#y', 400, 'request.target'],
      ['GET //public', 400, 'request.path'],
      ['GET /public/../admin', 400, 'request.path'],
      ['GET /public/%2e%2e/admin', 400, 'request.path'],
      ['GET /public/..%2fadmin', 400, 'request.path'],
      ['GET /public\\..\\admin', 400, 'request.path'],
      ['GET /public/..;/admin', 400, 'request.path'],
      ['GET /%61dmin', 400, 'request.path'],
      ['GET /Admin', 400, 'request.path'],
      ['GET /%EF%BC%A1dmin', 400, 'request.path'],
      ['GET /publicx', 404, 'route.unknown'],
      ['TRACE /public', 405, 'route.method'],
      ['get /public', 400, 'request.malformed'],
      ['TRACK /public', 400, 'request.malformed'],
      ['GET /public\tx', 400, 'request.malformed|request.path'],
      ['GET /pub\u00e9', 400, 'request.malformed|request.path'],
    ])('%s → %i', async (start, wanted, reasons) => {
      expect(await status(head(start))).toBe(wanted);
      expect(upstream.seen).toEqual([]);
      const [decision] = await world.decisions(1);
      expect(reasons.split('|')).toContain(decision?.['reason']);
      expect(decision?.['allow']).toBe(false);
      expect(await status(head('GET /public/alive'))).toBe(200);
    });

    test('what is let through arrives byte for byte', async () => {
      const target = '/public/caf%C3%A9/a%20b/?q="x"|{y}&z=/../%zz\\';
      expect(await status(head(`GET ${target}`))).toBe(200);
      expect(upstream.seen[0]?.url).toBe(target);
    });
  });

  describe('header sections', () => {
    const host = 'GET /public HTTP/1.1\r\nHost: gateway.test\r\n';
    test.each([
      ['no Host', 'GET /public HTTP/1.1\r\n\r\n', 400, 'request.malformed'],
      ['two Host', `${host}Host: y\r\n\r\n`, 400, 'request.duplicate_header'],
      [
        'two Authorization',
        `${host}Authorization: Bearer a\r\nAuthorization: Bearer a\r\n\r\n`,
        400,
        'request.credentials',
      ],
      [
        'a nominated Authorization',
        `${host}Connection: authorization\r\nAuthorization: Bearer a\r\n\r\n`,
        400,
        'request.framing',
      ],
      ['an expectation', `${host}Expect: 200-ok\r\n\r\n`, 417, 'request.expectation'],
      ['two expectations', `${host}Expect: 100-continue\r\nExpect: x\r\n\r\n`, 400, 'request.duplicate_header'],
      ['too long', `${host}X-A: ${'x'.repeat(70_000)}\r\n\r\n`, 431, 'request.header_too_large'],
      [
        'a target that is too long',
        `GET /public/${'x'.repeat(70_000)} HTTP/1.1\r\n\r\n`,
        431,
        'request.header_too_large',
      ],
      ['HTTP/0.9', 'GET /public HTTP/0.9\r\nHost: gateway.test\r\n\r\n', 400, 'request.malformed'],
      ['another version', 'GET /public HTTP/2.0\r\nHost: gateway.test\r\n\r\n', 400, 'request.malformed'],
      ['a version that is none', 'GET /public HTTP/1.9\r\nHost: gateway.test\r\n\r\n', 400, 'request.malformed'],
      ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'request.malformed'],
      ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'request.malformed'],
      [
        'a second Authorization behind thousands of fields',
        `${host}Authorization: Bearer a\r\n${'a:\r\n'.repeat(3000)}Authorization: Bearer a\r\n\r\n`,
        400,
        'request.credentials',
      ],
    ])('%s → %i', async (_what, bytes, wanted, reason) => {
      expect(await status(bytes)).toBe(wanted);
      expect(upstream.seen).toEqual([]);
      expect((await world.decisions(1)).map((decision) => decision['reason'])).toEqual([reason]);
    });

    test('a body that is announced behind thousands of fields arrives', async () => {
      const fields = `Connection: a\r\n${'a:\r\n'.repeat(3000)}Content-Length: 3\r\n\r\nabc`;
      expect(await status(`POST /public HTTP/1.1\r\nHost: gateway.test\r\n${fields}`)).toBe(200);
      expect(upstream.seen[0]?.body).toBe('abc');
    });
  });
});
