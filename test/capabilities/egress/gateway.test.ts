import { createServer } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { listen } from '../../../demo/listen.ts';
import { leadOwnRequests } from '../../../src/ports/own-requests.ts';
import { outcome, outcomeIn } from '../../commands/run.ts';
import { startPdp } from '../../support/decision-point.ts';
import { startEditedGateway, startTestGateway } from '../../support/gateway.ts';
import { startRecordingProxy } from '../../support/http-proxy.ts';
import { startIssuer } from '../../support/issuer.ts';
import { disclosures } from '../../support/secrecy.ts';
import { forThisTest } from '../../support/start-before.ts';
import { startUpstream } from '../../support/upstream.ts';

/** A server of loopback under a name that only a proxy can resolve. */
const named = (url: string, name: string): string => url.replace('127.0.0.1', name);

afterEach(() => void leadOwnRequests(undefined));

test('R-360: every request of the gateway itself goes through the proxy, and none to an upstream', async () => {
  const canary = 'cAnArY-of-the-pr0xy-7431';
  const proxy = await forThisTest(startRecordingProxy({ credentials: `gateway:${canary}` }));
  const [issuer, upstream, point] = [
    await forThisTest(startIssuer()),
    await forThisTest(startUpstream()),
    await forThisTest(startPdp()),
  ];
  const collected: (string | undefined)[] = [];
  const collector = await forThisTest(
    listen(
      createServer((incoming, response) => {
        collected.push(incoming.url);
        incoming.resume().on('end', () => response.setHeader('content-type', 'application/json').end('{}'));
      }),
      0,
    ),
  );
  const gateway = await forThisTest(
    startTestGateway({
      yaml: `
egress: { proxy: "\${env:PROXY}" }
telemetry: { otlp: "${named(collector.url, 'collector.test')}", logs: true }
authorization_servers:
  main:
    issuer: ${issuer.url}
    backchannel: ${named(issuer.url, 'idp.test')}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: s3cr3t-of-the-gateway }
decision_points: { acme: { url: "${named(point.server.url, 'decisions.test')}" } }
routes:
  - { name: api, path: /api, audience: a, tokens: [jwt, opaque], policy: api, decision_point: acme, upstream: { url: "${upstream.url}" } }
`,
      policies: { api: 'requests: { "* /**": {} }' },
      env: { PROXY: proxy.url },
    }),
  );
  expect(await gateway.line({ msg: "a proxy leads the gateway's own requests" })).toMatchObject({
    http: new URL(proxy.url).origin,
    https: new URL(proxy.url).origin,
  });
  issuer.introspection.set('opaque-token-1', { active: true, sub: 'alice', aud: 'a', exp: 9_999_999_999 });
  const tokens = [await issuer.sign({ aud: 'a' }), 'opaque-token-1'];
  for (const token of tokens) {
    const answer = await fetch(`${gateway.url}/api`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(answer.status).toBe(200);
  }
  await expect.poll(() => new Set(collected)).toEqual(new Set(['/v1/traces', '/v1/logs']));

  const asked = new Set(proxy.requests.map(({ target }) => new URL(target)).map((url) => url.hostname + url.pathname));
  expect(asked).toEqual(
    new Set([
      'idp.test/.well-known/oauth-authorization-server',
      'idp.test/jwks',
      'idp.test/introspect',
      'decisions.test/.well-known/authzen-configuration',
      'decisions.test/access/v1/evaluation',
      'collector.test/v1/traces',
      'collector.test/v1/logs',
    ]),
  );
  const shown = [
    JSON.stringify(await gateway.lines()),
    await gateway.metrics(),
    JSON.stringify(await gateway.ready()),
    await (await fetch(`${gateway.adminUrl}/console.json`)).text(),
  ].join('\n');
  expect(shown).not.toContain(canary);
  expect(disclosures()).toEqual([]);
});

test('an edit of `egress` counts from the next request on, and one with a mistake changes nothing', async () => {
  const [first, second] = [await forThisTest(startRecordingProxy()), await forThisTest(startRecordingProxy())];
  const issuer = await forThisTest(startIssuer());
  const upstream = await forThisTest(startUpstream());
  const yaml = (egress: string): string => `
egress: ${egress}
authorization_servers: { main: { issuer: "${issuer.url}", backchannel: "${named(issuer.url, 'idp.test')}", introspection: { client_id: a, client_secret: s3cr3t-of-the-gateway, cache: 0s } } }
routes: [{ name: api, path: /api, audience: a, tokens: [opaque], upstream: { url: "${upstream.url}" } }]
`;
  const gateway = await forThisTest(startEditedGateway(yaml(`{ proxy: "${first.url}" }`), {}));
  issuer.introspection.set('opaque-token-1', { active: true, sub: 'alice', aud: 'a', exp: 9_999_999_999 });
  const call = async (): Promise<number> =>
    (await fetch(`${gateway.url}/api`, { headers: { authorization: 'Bearer opaque-token-1' } })).status;
  expect(await call()).toBe(200);
  expect(second.requests).toEqual([]);
  first.requests.splice(0);

  await gateway.save('gateway.yaml', yaml('{ proxy: "socks5://x" }'));
  expect(await call()).toBe(200);
  expect(first.requests.length).toBeGreaterThan(0);
  first.requests.splice(0);

  await gateway.save('gateway.yaml', yaml(`{ proxy: "${second.url}" }`));
  expect(await call()).toBe(200);
  expect(first.requests).toEqual([]);
  expect(second.requests.length).toBeGreaterThan(0);
});

test('a gateway whose proxy is away refuses, and reaches no server another way', async () => {
  const proxy = await startRecordingProxy();
  await proxy.close();
  const issuer = await forThisTest(startIssuer());
  const upstream = await forThisTest(startUpstream());
  const gateway = await forThisTest(
    startTestGateway({
      yaml: `
egress: { proxy: "${proxy.url}" }
authorization_servers: { main: { issuer: "${issuer.url}", backchannel: "${named(issuer.url, '0.0.0.0')}", jwt: { algorithms: [RS256] } } }
routes: [{ name: api, path: /api, audience: a, upstream: { url: "${upstream.url}" } }]
`,
    }),
  );
  const token = await issuer.sign({ aud: 'a' });
  const { status } = await fetch(`${gateway.url}/api`, { headers: { authorization: `Bearer ${token}` } });
  expect(status).toBe(503);
  expect(await gateway.decision({ reason: 'authorization_server.unavailable' })).toMatchObject({
    detail: expect.stringContaining(`the proxy ${proxy.url} cannot be reached (ECONNREFUSED)`) as string,
  });
  expect(issuer.requests).toEqual([]);
});

test('doctor says whether the proxy lets requests through', async () => {
  const proxy = await forThisTest(startRecordingProxy({ answer: 'HTTP/1.1 403 Forbidden\r\n\r\n' }));
  const issuer = await forThisTest(startIssuer());
  const yaml = `public_url: http://127.0.0.1:9
egress: { proxy: "${proxy.url}" }
authorization_servers:
  plain: { issuer: "${issuer.url}", backchannel: "${named(issuer.url, 'idp.test')}", jwt: { algorithms: [RS256] } }
  secure: { issuer: https://secure.test, jwt: { algorithms: [RS256] } }
routes:
  - { name: api, path: /api, audience: a, authorization_servers: [plain, secure], upstream: { url: "http://127.0.0.1:9" } }
`;
  const { stdout } = await outcomeIn({ yaml }, ['doctor']);
  expect(stdout).toContain(`ok   egress: the proxy leads to ${named(issuer.url, 'idp.test')}`);
  const refused = `the proxy ${proxy.url} refused CONNECT secure.test:443 (403)`;
  const allow = 'allow secure.test:443 at the proxy, or name the host in egress.except';
  expect(stdout).toContain(`fail egress: ${refused}: ${allow}\n`);
  expect(stdout).toMatch(new RegExp(`^fail authorization_servers\\.secure: .*${allow}$`, 'm'));
  // The upstream and the gateway itself are on this machine.
  expect(new Set(proxy.requests.map(({ target }) => new URL(target, 'x:').hostname))).toEqual(
    new Set(['idp.test', '']),
  );
});

test('doctor says what to do where the proxy is down', async () => {
  const yaml = `public_url: http://127.0.0.1:9
egress: { proxy: "http://127.0.0.1:9" }
authorization_servers: { secure: { issuer: https://secure.test, jwt: { algorithms: [RS256] } } }
routes: [{ name: api, path: /api, audience: a, upstream: { url: "http://127.0.0.1:9" } }]
`;
  const { stdout } = await outcomeIn({ yaml }, ['doctor']);
  const down = 'the proxy http://127.0.0.1:9 cannot be reached (ECONNREFUSED)';
  expect(stdout).toContain(`fail egress: ${down}: start the proxy, or repair egress.proxy\n`);
  expect(stdout).toMatch(/^fail authorization_servers\.secure: .*: start the proxy, or repair egress\.proxy$/m);
});

test('a command uses the proxy of the environment', async () => {
  const proxy = await forThisTest(startRecordingProxy({ credentials: 'me:pr0xy-s3cr3t' }));
  const issuer = await forThisTest(startIssuer());
  const url = named(issuer.url, 'idp.test');
  const args = ['token', '--issuer', url, '--client', 'a', '--client-secret', '-'];
  const said = await outcome(args, undefined, { stdin: 's3cr3t-of-the-client', env: { http_proxy: proxy.url } });
  // The server names another issuer, so nothing is sent.
  expect(said.code).toBe(1);
  expect(proxy.requests.map(({ target }) => target)).toContain(`${url}/.well-known/oauth-authorization-server`);
  const refused = await outcome(args, undefined, { stdin: 's3cr3t-of-the-client', env: { http_proxy: 'socks5://x' } });
  expect(refused.stderr).toContain('HTTP_PROXY is the URL of a SOCKS proxy, which is not supported');
});
