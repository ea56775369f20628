import { once } from 'node:events';
import { beforeAll, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { startEditedGateway, type EditedGateway } from '../support/gateway.ts';
import { startIssuer } from '../support/issuer.ts';
import { startUpstream } from '../support/upstream.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';

/** What an edit may be about; everything else stays. */
interface Edited {
  readonly top?: string;
  readonly route?: string;
  readonly base?: string;
}

let gateway: EditedGateway;
let token: string;

const issuer = startBeforeAll(startIssuer);
const upstream = startBeforeAll(() =>
  startUpstream(
    (_request, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n'),
  ),
);
startBeforeAll(() => new WebSocketServer({ server: upstream.server }));
beforeAll(async () => {
  token = await issuer.sign({ aud: 'r', scope: 'write' });
});

const yamlOf = ({ top = '', route = '', base = '' }: Edited): string => `
${top}
authorization_servers:
  main:
    issuer: ${issuer.url}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: one, cache: 0s }
routes:
  - name: api
    path: /api
    audience: r
    policy: api
    ${route}
    upstream: { url: ${upstream.url}${base} }
`;

async function begin(before: Edited, policy = 'scope: write\n'): Promise<void> {
  gateway = await forThisTest(startEditedGateway(yamlOf(before), { api: policy }));
}

async function open(shown: string, headers = {}, query = ''): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const answer = await fetch(`${gateway.url}/api${query}`, {
    headers: { authorization: `Bearer ${shown}`, ...headers },
  });
  expect(answer.status).toBe(200);
  const stream = answer.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  await stream.read();
  return stream;
}

const asMcp = 'protocol: mcp';
const ended = async (): Promise<unknown> => (await gateway.line({ msg: 'stream ended' }))['reason'];

// test/tokens/accept.test.ts has the table of settings that tokens depend on.
describe('a stream ends with the setting that allowed it', () => {
  test.each<[string, Edited, Edited, string, object?, string?]>([
    ['the method', {}, { route: 'methods: [POST]' }, 'route.method'],
    ['the page', { top: 'allowed_origins: [https://a.test]' }, {}, 'request.origin', { origin: 'https://a.test' }],
    ['the protocol', {}, { route: asMcp }, 'route.unknown'],
    ['the query', { route: `${asMcp}\n    query: pass` }, { route: asMcp }, 'route.unknown', {}, '?session=1'],
    ['the place upstream', { base: '/one' }, { base: '/other' }, 'route.unknown'],
    ['unbound tokens', {}, { route: 'dpop: { required: true }' }, 'token.unbound'],
  ])('%s', async (_what, before, after, reason, headers, query) => {
    await begin(before);
    const stream = await open(token, headers, query);
    await gateway.save('gateway.yaml', yamlOf(after));
    await expect(stream.read()).resolves.toMatchObject({ done: true });
    expect(await ended()).toBe(reason);
  });

  test('R-84: an implied scope', async () => {
    await begin({ top: 'scopes: { write: [read] }' }, 'scope: read\n');
    const stream = await open(token);
    await gateway.save('gateway.yaml', yamlOf({}));
    await expect(stream.read()).resolves.toMatchObject({ done: true });
    expect(await ended()).toBe('scope.insufficient');
  });

  test('the upgrade', async () => {
    await begin({ route: 'upgrade: websocket' });
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/api`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await once(socket, 'open');
    const closed = once(socket, 'close');
    await gateway.save('gateway.yaml', yamlOf({}));
    await closed;
    expect(await ended()).toBe('route.upgrade');
  });

  test('continues if none of these settings changed', async () => {
    await begin({});
    const stream = await open(token);
    await gateway.save('gateway.yaml', yamlOf({ route: 'dpop: {}', top: 'scopes: { write: [read] }' }));
    expect((await gateway.lines()).filter(({ msg }) => msg === 'stream ended')).toEqual([]);
    await stream.cancel();
  });
});

test.each([
  ['where it was not before', ''],
  ['sooner than before', 'revalidate: 1h'],
])('a stream is revalidated %s', async (_what, route) => {
  issuer.introspection.set('o', { active: true, sub: 'alice', scope: 'write', aud: 'r' });
  await begin({ route });
  const stream = await open('o');
  issuer.introspection.delete('o');
  await gateway.save('gateway.yaml', yamlOf({ route: 'revalidate: 50ms' }));
  await expect(stream.read()).resolves.toMatchObject({ done: true });
});

test('revalidates a stream as the newest configuration says', async () => {
  let secret = 'one';
  issuer.intercept = (request, response) => {
    const known = `Basic ${Buffer.from(`gateway:${secret}`).toString('base64')}`;
    if (request.url !== '/introspect' || request.headers.authorization === known) return false;
    response.writeHead(401).end();
    return true;
  };
  issuer.introspection.set('o', { active: true, sub: 'alice', scope: 'write', aud: 'r' });
  await begin({ route: 'revalidate: 50ms' });
  const stream = await open('o');
  secret = 'two';
  const edited = yamlOf({ route: 'revalidate: 50ms' }).replace('client_secret: one', 'client_secret: two');
  await gateway.save('gateway.yaml', edited);
  issuer.introspection.delete('o');
  await expect(stream.read()).resolves.toMatchObject({ done: true });
  issuer.intercept = undefined;
});
