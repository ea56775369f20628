import { createServer as createSecureServer } from 'node:https';
import type { RequestListener } from 'node:http';
import { describe, expect, test } from 'vitest';
import { listen } from '../../../demo/listen.ts';
import { startMcpServer } from '../../../demo/mcp-server.ts';
import { examineStore } from '../../../src/capabilities/shared-store/doctor.ts';
import { examineCertificates, examineUpstream } from '../../../src/commands/doctor/doctor.ts';
import { examinePublicUrl } from '../../../src/commands/doctor/public-url.ts';
import { metadataDocuments } from '../../../src/core/gateway/respond/resource-metadata.ts';
import { loaded } from '../../serve/config/folder.ts';
import { pem, tlsLine, x509 } from '../../support/certificates.ts';
import { startHttp } from '../../support/mcp-servers.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { linesOf } from './found.ts';
import { forThisTest } from '../../support/start-before.ts';

async function serving(answers: RequestListener): Promise<string> {
  const running = await forThisTest(startHttp(answers));
  return running.url;
}

interface Settings {
  readonly publicUrl?: string;
  readonly more?: string;
  readonly upstream?: string;
  readonly protocol?: string;
  readonly token?: string;
  readonly audience?: string;
}

function configured({
  publicUrl,
  more = '',
  upstream = 'http://127.0.0.1:9/mcp',
  protocol = 'mcp',
  token,
  audience = '',
}: Settings) {
  const resource = protocol === 'mcp' ? `resource: { name: Tools }, policy: tools${audience}` : 'audience: a';
  return loaded({
    yaml: `public_url: ${publicUrl ?? 'http://127.0.0.1:9'}
${more}authorization_servers: { main: { issuer: "http://127.0.0.1:9", jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: ${protocol}, ${resource}, upstream: { url: "${upstream}"${token ?? ''} } }
`,
    files: { 'policies/tools.yaml': 'tools: { "get_*": {} }\n' },
  });
}

describe('the public URL', () => {
  const metadata = '/.well-known/oauth-protected-resource/mcp';

  async function examined(answer: (url: string, document: string) => RequestListener): Promise<readonly string[]> {
    let answers: RequestListener = () => {};
    const publicUrl = await serving((request, response) => answers(request, response));
    const config = await configured({ publicUrl });
    answers = answer(publicUrl, metadataDocuments(config, []).get(metadata)?.toString() ?? '');
    const lines = await linesOf(examinePublicUrl(config));
    return lines.map((line) => line.replaceAll(publicUrl, 'URL'));
  }

  test.for([
    [
      'server',
      'Caddy',
      75,
      'Caddy answers, which keeps idle connections for 120 s unless it is set, and limits.idle is 75 s',
    ],
    ['via', '1.1 google', 75, 'a Google Cloud balancer answers, which keeps idle connections for 600 s'],
    ['server', 'awselb/2.0', 75, undefined],
    ['server', 'awselb/2.0', 60, 'an AWS balancer answers, which keeps idle connections for 60 s'],
    ['server', 'Caddy', 130, undefined],
    ['server', 'sallyport', 5, undefined],
  ] as const)('behind %s: %s, with limits.idle %d s', async ([field, value, seconds, expected]) => {
    const publicUrl = await serving((_request, response) => response.setHeader(field, value).end('{}'));
    const config = await configured({ publicUrl, more: `limits: { idle: ${seconds}s }\n` });
    const line = (await linesOf(examinePublicUrl(config))).find((each) => each.includes('idle'));
    expect(line?.startsWith(`warn public_url: ${expected}`)).toBe(expected === undefined ? undefined : true);
  });

  test.for([
    ['a warning while no gateway runs there', 'http://127.0.0.1:1024', /^warn public_url: .* \(ECONNREFUSED\)$/],
    ['a failure if its name does not resolve', 'http://gateway.invalid', /^fail .* \((?:ENOTFOUND|EAI_AGAIN)\)$/],
  ] as const)('is %s', async ([, publicUrl, line]) => {
    const lines = await linesOf(examinePublicUrl(await configured({ publicUrl })));
    expect(lines).toEqual([expect.stringMatching(line)]);
    expect(lines[0]).toContain(`public_url: ${publicUrl}${metadata} cannot be reached (`);
  });

  test('has the metadata and the challenge of this configuration', async () => {
    const lines = await examined((url, document) => (request, response) => {
      if (request.url === metadata) return void response.end(document);
      const challenge = `Bearer error="invalid_token", resource_metadata="${url}${metadata}"`;
      return void response.writeHead(401, { 'www-authenticate': challenge }).end();
    });
    expect(lines).toEqual([
      `ok routes.tools: URL${metadata} has the metadata of this configuration`,
      'ok routes.tools: a request without a token gets 401, which names the metadata',
    ]);
  });

  test.for([
    ['localhost, where clients may use 127.0.0.1', 'localhost', '', /^warn public_url: http:\/\/localhost:\d+ is anot/],
    [
      'an audience that MCP clients do not ask for',
      '127.0.0.1',
      ', audience: a',
      /^warn routes\.tools: its audience is a,/,
    ],
  ] as const)('warns of %s', async ([, host, audience, line]) => {
    const url = await serving((_, response) => void response.writeHead(401).end());
    const publicUrl = url.replace('127.0.0.1', host);
    const lines = await linesOf(examinePublicUrl(await configured({ publicUrl, audience })));
    expect(lines.filter((each) => each.startsWith('warn'))).toEqual([expect.stringMatching(line)]);
  });

  test.for<[what: string, answers: (document: string) => RequestListener, line: string, index?: 1]>([
    [
      'a proxy that removes the challenge',
      (document) => (request, response) => void response.writeHead(request.url === metadata ? 200 : 401).end(document),
      `fail routes.tools: a request without a token gets 401 without resource_metadata="URL${metadata}"`,
      1,
    ],
    [
      'a proxy that does not pass the metadata on',
      () => (_, response) => void response.writeHead(404).end(),
      `fail routes.tools: URL${metadata} answered 404, not the metadata`,
    ],
    [
      'metadata of another resource',
      (document) => (_, response) => void response.end(document.replace('/mcp"', '/other"')),
      `fail routes.tools: URL${metadata} names the resource "URL/other", not "URL/mcp"`,
    ],
    [
      'metadata of an older configuration',
      (document) => (_, response) => void response.end(document.replace('Tools', 'Old')),
      `warn routes.tools: URL${metadata} has other metadata than this configuration`,
    ],
  ])('%s is found', async ([, answers, line, index = 0]) => {
    expect((await examined((_, document) => answers(document)))[index]).toBe(line);
  });

  describe('on the port of the gateway', () => {
    async function remedies(answers: RequestListener, listen = ''): Promise<readonly (string | undefined)[]> {
      const publicUrl = await serving(answers);
      const config = await configured({ publicUrl, more: `listen: ${listen}${new URL(publicUrl).port}\n` });
      const found = await examinePublicUrl(config);
      return [...new Set(found.map(({ remedy }) => remedy?.replaceAll(new URL(publicUrl).port, 'PORT')))];
    }
    const another =
      'another program listens on port PORT: find it with ss -ltnp "sport = :PORT" (on macOS lsof -nP -iTCP:PORT -sTCP:LISTEN), stop it, or change listen and public_url';

    test.for<[answer: string, RequestListener, listen?: string]>([
      ['a page', (_, response) => void response.end('<!doctype html>')],
      ['a 404', (_, response) => void response.writeHead(404).end('nginx')],
      ['another protocol', (request) => request.socket.end('SSH-2.0\r\n'), '0.0.0.0:'],
    ])('another program, and no proxy, is named for %s', async ([, answers, at = '127.0.0.1:']) => {
      expect(await remedies(answers, at)).toEqual([another]);
    });

    test('a gateway with another configuration is to be reloaded', async () => {
      const gateway: RequestListener = (_, response) => {
        const headers = { 'content-type': 'application/problem+json' };
        response.writeHead(404, headers).end('{"title":"Not found","reason":"route.unknown","decision":"d"}');
      };
      expect(await remedies(gateway, '127.0.0.1:')).toEqual(['reload or restart the gateway with this file']);
    });
  });
});

describe('upstreams', () => {
  async function examined(settings: Settings): Promise<string | undefined> {
    const { routes } = await configured(settings);
    return (await linesOf(Promise.all(routes.map(examineUpstream))))[0];
  }

  test('an MCP server is asked for its tools, and the policy counts those that it lists', async () => {
    const server = await forThisTest(startMcpServer({ port: 0, apiUrl: 'http://127.0.0.1:9' }));
    expect(await examined({ upstream: `${server.url}/mcp` })).toBe(
      `ok routes.tools.upstream: ${server.url}/mcp speaks MCP 2026-07-28 and has 7 tools, of which the policy lists 4`,
    );
  });

  test('an MCP server that demands a token fails, unless the gateway sends it one', async () => {
    const upstream = await serving((_, response) => void response.writeHead(401).end());
    const token = ', token: exchange, exchange: { server: main, client_id: a, client_secret: b, audience: c }';
    expect(await examined({ upstream })).toMatch(/^fail .* answered 401/);
    expect(await examined({ upstream, token })).toMatch(/^ok .* sends it a token \(exchange\)$/);
  });

  test.for([
    ['http', 421, ''],
    ['mcp', 421, ''],
    ['mcp', 421, 'Invalid Host header'],
    ['mcp', 403, 'Host is not allowed'],
  ] as const)(
    'one of protocol %s that answers %i, %j for its host has that remedy',
    async ([protocol, status, body]) => {
      const upstream = await serving((_, response) => {
        response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
      });
      const { routes } = await configured({ protocol, upstream });
      const [finding] = await Promise.all(routes.map(examineUpstream));
      const { host } = new URL(upstream);
      expect(finding).toMatchObject({
        status: 'fail',
        text: expect.stringMatching(/: it checks Host, and does not serve this one$/) as string,
        remedy: `add ${host} to the allowed hosts of the server (allowed_hosts, allowedHosts)`,
      });
    },
  );

  test.for(['http', 'mcp'])(
    'https where an upstream of protocol %s answers plain HTTP has that remedy',
    async (protocol) => {
      const upstream = (await serving((_, response) => void response.end())).replace('http:', 'https:');
      const { routes } = await configured({ protocol, upstream });
      expect(await Promise.all(routes.map(examineUpstream))).toEqual([
        expect.objectContaining({ status: 'fail', remedy: expect.stringContaining('write http://') as string }),
      ]);
    },
  );

  test.for([
    [404, 'ok', 'answers (404 to HEAD)'],
    [503, 'warn', 'answered 503 to HEAD'],
  ] as const)('an HTTP server that answers %i to HEAD is %s', async ([status, finding, says]) => {
    const methods: (string | undefined)[] = [];
    const upstream = await serving(({ method }, response) => {
      methods.push(method);
      response.writeHead(status).end();
    });
    expect(await examined({ protocol: 'http', upstream })).toBe(
      `${finding} routes.tools.upstream: ${upstream}/ ${says}`,
    );
    expect(methods).toEqual(['HEAD']);
  });

  test.for(['mcp', 'http'])('one of %s that is down fails', async (protocol) => {
    expect(await examined({ protocol, upstream: 'http://127.0.0.1:1024' })).toBe(
      'fail routes.tools.upstream: http://127.0.0.1:1024/ cannot be reached (ECONNREFUSED)',
    );
  });
});

describe('certificates', () => {
  const dayMs = 24 * 3_600_000;
  const end = x509('server').validToDate.getTime();

  test.for([
    [15, 'ok tls: the certificate is valid until'],
    [13, 'warn tls: the certificate is valid until'],
    [-1, 'fail tls: the file of cert expired at'],
  ] as const)('%i days before its end', async ([days, beginning]) => {
    const config = await configured({ publicUrl: 'https://127.0.0.1:9', more: tlsLine() });
    const [line] = await linesOf(examineCertificates(config, end - days * dayMs));
    expect(line?.slice(0, beginning.length)).toBe(beginning);
  });

  test('of a server that no authority of this machine signed fails', async () => {
    const running = await forThisTest(listen(createSecureServer({ cert: pem('server'), key: pem('server-key') }), 0));
    const upstream = running.url.replace('http:', 'https:');
    const [line, ...others] = await linesOf(examineCertificates(await configured({ upstream }), Date.now()));
    const says = `fail routes.tools.upstream: the certificate of ${upstream} is not trusted: `;
    expect([line?.replace(/[A-Z_]+$/, ''), ...others]).toEqual([says]);
  });

  test('of a server that is down are no finding', async () => {
    const config = await configured({ upstream: 'https://127.0.0.1:9' });
    expect(await linesOf(examineCertificates(config, Date.now()))).toEqual([]);
  });
});

describe('the shared store', () => {
  const sessionKey = 'mD0uyd6KWfZ3xr1Q9vJb4TgHnPsL8cAe';
  const more = (port: number) => `shared: redis://:Xk4vT9qPz2@127.0.0.1:${port}\nsession_key: ${sessionKey}\n`;

  test('that is down fails, and its password stays secret', async () => {
    const [line] = await linesOf(examineStore(await configured({ more: more(9) })));
    expect(line).toMatch(/^fail shared: the store is unavailable: .*ECONNREFUSED/);
    expect(line).not.toContain('Xk4');
  });

  test.skipIf(!hasRedis)('that takes a write is ok', async () => {
    const redis = await startRedis();
    const config = await configured({ more: `shared: ${redis.url}\nsession_key: ${sessionKey}\n` });
    expect(await linesOf(examineStore(config))).toEqual(['ok shared: the store takes writes']);
  });

  test('that is not configured is no finding', async () => {
    expect(await linesOf(examineStore(await configured({})))).toEqual([]);
  });
});
