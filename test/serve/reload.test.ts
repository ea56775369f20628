import type { IncomingMessage, ServerResponse } from 'node:http';
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import gatewaySchema from '../../schema/gateway.schema.json' with { type: 'json' };
import { restartKeys } from '../../schema/compile.ts';
import { places } from '../../src/serve/reload.ts';
import { startEditedGateway } from '../support/gateway.ts';
import { startIssuer } from '../support/issuer.ts';
import { startUpstream } from '../support/upstream.ts';
import { startBeforeAll, startBeforeEach } from '../support/start-before.ts';

let reader: string;

const issuer = startBeforeAll(startIssuer);
const upstream = startBeforeAll(() => startUpstream(answer));
beforeAll(async () => {
  reader = await issuer.sign({ aud: 'r', scope: 'read' });
});
const gateway = startBeforeEach(() => startEditedGateway(yamlOf('api', '/base'), { api: 'scope: read\n' }));

const yamlOf = (path: string, base: string, header = 'x-auth-subject'): string => `
authorization_servers:
  main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } }
routes:
  - name: api
    path: /${path}
    audience: r
    policy: api
    upstream: { url: ${upstream.url}${base}, identity: { ${header}: sub } }
`;

/** Told when a held request has come, with what lets its stream begin. */
let held: ((go: () => void) => void) | undefined;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const stream = (): unknown => response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  if (request.url?.endsWith('?held') === true) held?.(stream);
  else if (request.url?.endsWith('?stream') === true) stream();
  else response.end('ok');
}

const call = (path = '/api'): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${reader}` } });
const statusOf = async (path?: string): Promise<number> => {
  const { status, body } = await call(path);
  await body?.cancel();
  return status;
};

describe('an edit', () => {
  test('of a policy applies to cached tokens without new introspections', async () => {
    expect(await statusOf()).toBe(200);
    const asked = issuer.requests.length;
    await gateway.save('policies/api.yaml', 'scope: [read, write]\n');
    const refused = await call();
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('scope="read write"');
    expect(issuer.requests.length).toBe(asked);
  });

  test('is noticed in place and through a replaced symbolic link, as in Kubernetes', async () => {
    const { folder } = gateway;
    await gateway.after(() => writeFile(join(folder, 'policies/api.yaml'), 'scope: other\n'));
    expect(await statusOf()).toBe(403);
    await mkdir(join(folder, '..2'));
    await writeFile(join(folder, '..2/api.yaml'), 'scope: read\n');
    await symlink('..2', join(folder, 'turned'));
    await gateway.after(async () => {
      await rename(join(folder, 'policies'), join(folder, 'before'));
      await rename(join(folder, 'turned'), join(folder, 'policies'));
    });
    expect(await statusOf()).toBe(200);
  });

  test('adds and removes routes at once', async () => {
    await gateway.save('gateway.yaml', yamlOf('other', '/base'));
    expect(await statusOf()).toBe(404);
    expect(await statusOf('/other')).toBe(200);
  });

  test('R-164: with an error keeps the last valid configuration, and logs the place of the error', async () => {
    const line = await gateway.save('policies/api.yaml', 'scope: read\nclaims: { risk: { bellow: 50 } }\n');
    expect(line).toMatchObject({ level: 'error', msg: expect.stringContaining('refused') });
    expect(String(line['problems'])).toMatch(/policies\/api\.yaml:2:19: claims\.risk\.bellow: .*below/);
    expect(await statusOf()).toBe(200);
    expect(await gateway.metrics()).toContain('sallyport_config_last_reload_successful 0');
    const text = expect.any(String) as string;
    expect(await gateway.ready()).toMatchObject({ status: 'ready', warning: text, problems: [text] });

    await gateway.save('policies/api.yaml', 'scope: read\nclaims: { risk: { below: 50 } }\n');
    expect(await gateway.metrics()).toContain('sallyport_config_last_reload_successful 1');
    expect(await gateway.ready()).not.toHaveProperty('warning');
    expect(await statusOf()).toBe(403);
  });

  test('R-88: that empties a policy does not allow every call', async () => {
    const line = await gateway.save('policies/api.yaml', '');
    expect(String(line['problems'])).toContain('is empty');
    expect(await statusOf()).toBe(200);
    expect((await fetch(`${gateway.url}/api`)).status).toBe(401);
  });

  test('changes sallyport_config_info', async () => {
    const before = String((await gateway.ready())['config']);
    const { config } = await gateway.save('policies/api.yaml', 'scope: other\n');
    expect(config).not.toBe(before);
    const metrics = await gateway.metrics();
    expect(metrics).toContain(`sallyport_config_info{hash="${String(config)}"} 1`);
    expect(metrics).not.toContain(before);
  });
});

describe('open streams', () => {
  async function open(): Promise<ReadableStreamDefaultReader<Uint8Array>> {
    const stream = (await call('/api?stream')).body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    await stream.read();
    return stream;
  }
  test('R-165: end if the new policy would refuse them', async () => {
    const stream = await open();
    await gateway.save('policies/api.yaml', 'scope: other\n');
    await expect(stream.read()).resolves.toMatchObject({ done: true });
    await gateway.line({ msg: 'stream ended', route: 'api', reason: 'scope.insufficient' });
  });

  test('end if they were decided on before an edit and opened after it', async () => {
    const answer = Promise.withResolvers<() => void>();
    held = (go) => answer.resolve(go);
    const opening = call('/api?held');
    const go = await answer.promise;
    await gateway.save('policies/api.yaml', 'scope: other\n');
    go();
    const { body } = await opening;
    await expect(new Response(body).text()).resolves.toBeDefined();
    await gateway.line({ msg: 'stream ended', reason: 'scope.insufficient' });
  });
});

test('R-163: loses no request under load, and serves none by a mix of two configurations', async () => {
  const seenFrom = upstream.seen.length;
  const loading = new AbortController();
  let answered = 0;
  const clients = Array.from({ length: 8 }, async () => {
    while (!loading.signal.aborted) {
      expect(await statusOf()).toBe(200);
      answered += 1;
    }
  });
  for (let round = 0; round < 6; round += 1) {
    const letter = round % 2 === 0 ? 'b' : 'a';
    await gateway.save('gateway.yaml', yamlOf('api', `/${letter}`, `x-auth-${letter}`));
  }
  loading.abort();
  await Promise.all(clients);
  const seen = upstream.seen.slice(seenFrom);
  expect(seen.length).toBe(answered);
  for (const { url, headers } of seen) {
    const own = Object.keys(headers).filter((name) => name.startsWith('x-auth-'));
    expect(own).toEqual([url === '/base' ? 'x-auth-subject' : `x-auth-${url.slice(1)}`]);
  }
});

test('logs an edit that needs a restart, and applies the rest', async () => {
  await gateway.save('gateway.yaml', `${yamlOf('other', '/base')}limits: { request_headers: 8KiB }\n`);
  const told = expect.objectContaining({
    level: 'warn',
    msg: expect.stringContaining('limits.request_headers'),
  }) as unknown;
  expect(await gateway.lines()).toContainEqual(told);
  expect(await statusOf('/other')).toBe(200);
});

test('each key that needs a restart has its place', () => {
  expect(Object.keys(places).toSorted()).toEqual(restartKeys(gatewaySchema).toSorted());
});
