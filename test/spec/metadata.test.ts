import { describe, expect, test } from 'vitest';
import { startService } from './service.ts';
import { publicUrl, startWorld } from '../worlds/gateway.ts';
import { normalized } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';

const service = startBeforeAll(startService);

const wellKnown = '/.well-known/oauth-protected-resource';

async function metadata(path = `${wellKnown}/mcp`): Promise<Record<string, unknown>> {
  const { status, text } = await service.send(path);
  expect(status).toBe(200);
  return JSON.parse(text) as Record<string, unknown>;
}

test('R-2: the document names the URL that clients call, from public_url and never from Host', async () => {
  expect(await metadata()).toMatchObject({ resource: `${publicUrl}/mcp` });
  const raw = await service.sendRaw(`GET ${wellKnown}/mcp HTTP/1.1`, 'Host: localhost:1234');
  expect(raw).toContain(`"resource":"${publicUrl}/mcp"`);
  expect(raw).not.toContain('localhost');
});

describe('the path of the document', () => {
  test.for([
    [`${wellKnown}/mcp`, 'the path of the resource'],
    [wellKnown, 'bare: there is exactly one resource'],
  ])('R-7, R-8: stands at %s: %s', async ([path]) => {
    expect(await metadata(path)).toMatchObject({ resource: `${publicUrl}/mcp` });
  });

  test.for([
    [`${wellKnown}/demo/data`, 'a route that is no resource'],
    [`${wellKnown}/mcp/x`, 'below a resource'],
  ])('R-9: does not stand at %s: %s', async ([path]) => {
    const raw = await service.sendRaw(`GET ${path} HTTP/1.1`, 'Host: gateway.test');
    expect(raw).toMatch(/^HTTP\/1\.1 40[04] /);
    expect(raw).not.toContain('authorization_servers');
  });

  test('R-8: does not stand at the bare path where two routes are resources', async () => {
    const world = await startWorld({
      routes: ['a', 'b'].map((name) => `name: ${name}, path: /${name}, protocol: mcp, upstream: { url: "UPSTREAM" }`),
    });
    const paths = [wellKnown, `${wellKnown}/`, `${wellKnown}/a`, `${wellKnown}/b`];
    const answers = await Promise.all(paths.map((path) => world.send(path)));
    await world.close();
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 200, 200]);
    expect(answers.slice(2).map(({ text }) => (JSON.parse(text) as { resource: string }).resource)).toEqual([
      `${publicUrl}/a`,
      `${publicUrl}/b`,
    ]);
  });
});

describe('the request for the document', () => {
  test('R-1, R-10: answers GET with these bytes', async () => {
    expect(normalized(await service.sendRaw(`GET ${wellKnown}/mcp HTTP/1.1`, 'Host: gateway.test'))).toBe(
      `HTTP/1.1 200 OK
access-control-allow-origin: *
access-control-allow-methods: GET, HEAD, OPTIONS
access-control-allow-headers: *
access-control-max-age: 86400
content-type: application/json
cache-control: public, max-age=300
content-length: ${(await service.send(`${wellKnown}/mcp`)).text.length}
x-request-id: …
date: …
connection: close

${(await service.send(`${wellKnown}/mcp`)).text}`,
    );
  });

  test.for(['POST', 'DELETE'])('R-10: answers %s with 405 and Allow', async (method) => {
    const { status, headers } = await service.send(`${wellKnown}/mcp`, { method });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test('R-1: answers the same without a token and with an expired one', async () => {
    const plain = await service.send(`${wellKnown}/mcp`);
    const withToken = await service.send(`${wellKnown}/mcp`, { token: 'expired' });
    expect(withToken).toMatchObject({ status: 200, text: plain.text });
    expect(service.upstream.seen).toEqual([]);
  });
});
