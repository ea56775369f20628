import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const text = (name: string): Promise<string> =>
  readFile(new URL(`../../deploy/forward-auth/${name}`, import.meta.url), 'utf8');

// Neither can be installed here: what a mistake would open is at least looked at. real-proxies.test.ts runs the others.
describe('an example that these tests cannot run', () => {
  test.each(['traefik.yaml', 'envoy.yaml'])(
    '%s copies identity fields, and removes the client’s token',
    async (name) => {
      const example = (await text(name)).toLowerCase();
      for (const header of ['x-auth-subject', 'x-auth-client', 'authorization']) expect(example).toContain(header);
    },
  );

  test('of Traefik trusts no client, and sends bodies of MCP only', async () => {
    const { http } = parse(await text('traefik.yaml')) as {
      http: {
        middlewares: Record<string, { forwardAuth: Record<string, unknown> }>;
        routers: Record<string, { middlewares?: string[] }>;
      };
    };
    // A router added later without it would pass the client's own Client-Cert on.
    const first = Object.values(http.routers).map(({ middlewares = [] }) => middlewares[0]);
    expect(new Set(first)).toEqual(new Set(['no-client-cert']));
    const { 'no-client-cert': removes } = http.middlewares as Record<string, unknown>;
    expect(removes).toEqual({ headers: { customRequestHeaders: { 'Client-Cert': '' } } });
    const common = { address: 'http://127.0.0.1:8081/_sallyport/authorize', trustForwardHeader: false };
    expect(http.middlewares['sallyport']?.forwardAuth).toMatchObject(common);
    expect(http.middlewares['sallyport']?.forwardAuth).not.toHaveProperty('forwardBody');
    expect(http.middlewares['sallyport-mcp']?.forwardAuth).toMatchObject({ ...common, forwardBody: true });
    const unasked = Object.entries(http.routers).filter(([, { middlewares = [] }]) => middlewares.length === 1);
    expect(unasked.map(([name]) => name)).toEqual(['metadata']);
  });

  test('of Envoy fails closed, and never sends a part of a message', async () => {
    const example = await text('envoy.yaml');
    expect(() => parse(example) as unknown).not.toThrow();
    for (const line of [
      'failure_mode_allow: false',
      'allow_partial_message: false',
      'path_prefix: /_sallyport/authorize',
      'normalize_path: true',
      '{ exact: content-encoding }',
      '{ exact: origin }',
      'request_headers_to_remove: [client-cert]',
      '{ prefix: mcp }',
    ]) {
      expect(example).toContain(line);
    }
    expect(example).not.toMatch(/\{ (?:exact|prefix): c(?:l[\w-]*)? \}/);
  });
});
