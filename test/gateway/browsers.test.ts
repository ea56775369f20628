import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchangeRaw } from '../support/raw.ts';
import { request, startMcpWorld, type McpWorld } from '../worlds/mcp.ts';

let world: McpWorld;

beforeAll(async () => {
  world = await startMcpWorld({ top: 'allowed_origins: [https://app.example]\nallowed_hosts: [internal]\n' });
  world.handle = (_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'access-control-allow-origin': '*', vary: 'Accept' })
      .end('{}');
  };
});
afterAll(() => world.close());

const ping = (headers: Record<string, string>): Promise<Response> => world.send(request('ping'), { headers });

describe('Origin', () => {
  test.each([
    'https://app.example',
    'http://gateway.test',
    'http://localhost',
    'http://localhost:6274',
    'http://127.0.0.1:80',
    'https://[::1]:1',
  ])('allows %s to call and to read the answer', async (origin) => {
    const response = await ping({ origin });
    expect(response.status).toBe(200);
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    expect(response.headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id');
    expect(response.headers.get('vary')).toBe('Accept, Origin');
  });

  test.each([
    'http://evil.example',
    'null',
    'https://app.example.evil.example',
    'http://app.example',
    'https://app.example:444',
    'http://localhost.evil.example',
    'http://localhost:x',
    'file://',
    '',
  ])('R-114: %s gets 403, and nothing reaches the upstream', async (origin) => {
    const before = world.upstream.seen.length;
    const response = await ping({ origin });
    expect(response.status).toBe(403);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect(response.headers.get('www-authenticate')).toBeNull();
    expect(world.upstream.seen.length).toBe(before);
  });

  test('removes an upstream’s CORS fields, with and without an Origin', async () => {
    expect((await ping({})).headers.get('access-control-allow-origin')).toBeNull();
  });

  test('R-117: lets the page read a refusal', async () => {
    const response = await fetch(`${world.gateway.url}/mcp`, {
      method: 'POST',
      headers: { origin: 'https://app.example' },
    });
    expect(response.status).toBe(401);
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(response.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
  });
});

describe('preflight', () => {
  const preflight = (origin: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${world.gateway.url}/mcp`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', ...headers },
    });

  test('R-116: is answered without a token and without the upstream', async () => {
    const before = world.upstream.seen.length;
    const asked = 'authorization, mcp-param-region, content-type';
    const response = await preflight('https://app.example', { 'access-control-request-headers': asked });
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-methods')).toBe('POST, GET, DELETE');
    const allowed = response.headers.get('access-control-allow-headers') ?? '';
    for (const name of ['Authorization', 'Mcp-Session-Id', 'mcp-param-region']) expect(allowed).toContain(name);
    expect(world.upstream.seen.length).toBe(before);
  });

  test('is refused for another origin', async () => {
    expect((await preflight('http://evil.example')).status).toBe(403);
  });

  test('is not every OPTIONS: another one is decided as any method', async () => {
    const response = await fetch(`${world.gateway.url}/mcp`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example' },
    });
    expect(response.status).toBe(405);
  });
});

describe('Host', () => {
  const statusOf = async (host: string): Promise<string> => {
    const answer = await exchangeRaw(
      world.gateway.url,
      `GET /mcp HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    );
    return answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 '.length + 3);
  };

  test.each(['gateway.test', 'GATEWAY.test:8080', 'localhost:1', '127.0.0.1', '[::1]:8080', 'internal'])(
    'accepts %s',
    async (host) => {
      expect(await statusOf(host)).toBe('401');
    },
  );

  test.each(['evil.example', 'gateway.test.', 'gateway.test.evil.example', 'a@gateway.test', '[::1', ''])(
    'R-115: refuses %j, as after DNS rebinding',
    async (host) => {
      expect(await statusOf(host)).toBe('403');
    },
  );
});

test('lets every page read the metadata', async () => {
  const response = await fetch(`${world.gateway.url}/.well-known/oauth-protected-resource/mcp`, {
    headers: { origin: 'http://evil.example' },
  });
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
});
