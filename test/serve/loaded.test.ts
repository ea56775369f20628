import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesIn, importsOf } from '../architecture/source-files.ts';
import { inFolder } from './config/folder.ts';
import { startCollector } from '../support/collector.ts';
import { startIssuer } from '../support/issuer.ts';
import { forThisTest } from '../support/start-before.ts';
import { postCall } from '../support/mcp-message.ts';
import { startUpstream } from '../support/upstream.ts';
import { sallyport } from './process.ts';

const root = new URL('../../', import.meta.url);
const hooks = new URL('loaded-modules.mjs', import.meta.url);

// What is imported at the top, when the types are gone.
const statics = new Map(
  [...filesIn('src', /\.ts$/), ...filesIn('schema', /\.js$/)].map(({ path, text }) => {
    const values = stripTypeScriptTypes(text).replaceAll(/\bimport\s*\([^)]*\)/g, '');
    return [path, importsOf({ path, text: values })];
  }),
);

/** Everything that is loaded, with what loads it, as soon as `path` is. */
function loadedBy(path: string, loaded = new Map<string, string>()): Map<string, string> {
  for (const { target, specifier, isOurs } of statics.get(path) ?? []) {
    const name = isOurs ? target : specifier;
    if (loaded.has(name)) continue;
    loaded.set(name, path);
    loadedBy(name, loaded);
  }
  return loaded;
}

test('a start loads what every gateway needs, and no more of it', () => {
  const packages = [...loadedBy('src/commands/serve.ts').keys()].filter(
    (name) => !/^(?:src|schema)\/|^node:/.test(name),
  );
  const ofFrontDoor = /^src\/(?:front-door\/|serve\/front-door-revocations|tokens\/revoked-tokens)/;
  expect([...loadedBy('src/commands/serve.ts').keys()].filter((name) => ofFrontDoor.test(name))).toEqual([]);
  expect(packages.toSorted()).toEqual([
    'ajv/dist/runtime/equal.js',
    'ajv/dist/runtime/ucs2length.js',
    'jose/decode/protected_header',
    'jose/errors',
    'jose/jwks/local',
    'jose/jwt/sign',
    'jose/jwt/unsecured',
    'jose/jwt/verify',
    'lru-cache',
    'prom-client',
    'undici/lib/core/connect.js',
    'undici/lib/core/errors.js',
    'undici/lib/dispatcher/client.js',
    'yaml',
  ]);
});

const features = {
  approvals:
    /^src\/capabilities\/approvals\/(?:api|approvals|bound-call|notifier|stored-approvals|memory-approvals)\.ts/,
  'decision points': /^src\/capabilities\/decision-points\/(?:decision-point|question|doctor)\.ts/,
  'forward auth': /^src\/capabilities\/forward-auth\/(?:forward-auth|original-request|permit-headers)\.ts/,
  exchange: /^src\/capabilities\/exchange\/(?:credential-source|issued-token|token-exchange|doctor)\.ts/,
  'opaque tokens': /^src\/tokens\/introspection(?:-answer)?\.ts/,
  possession: /^src\/capabilities\/possession\/(?:proof-check|dpop-proof)\.ts/,
  revocation:
    /^src\/capabilities\/revocation\/(?:delivery|effects|endpoints|keeper|receiver|revocations|security-event|subjects|transmitter|revocation-store)\.ts/,
  MCP: /^src\/mcp\//,
  WebSockets: /^src\/capabilities\/websockets\/upgrade\.ts/,
  'parts of the policy language': /^src\/policy-parts\/(?:approvals|history)\/(?:approval|part|rules|counting)\.ts/,
  'the shared store': /^src\/capabilities\/shared-store\/(?:connection|clients|cluster|sentinel|doctor)\.ts/,
  egress: /^src\/capabilities\/egress\/proxies\.ts/,
  // prom-client uses its API.
  telemetry: /^node_modules\/@opentelemetry\/(?!api\/)/,
};

test.each(['src/commands/serve.ts', 'src/serve/workers/primary.ts', 'src/serve/workers/worker.ts'])(
  '%s loads no feature by itself',
  (path) => {
    const loaded = [...loadedBy(path).keys()];
    for (const pattern of Object.values(features)) expect(loaded.filter((each) => pattern.test(each))).toEqual([]);
  },
);

describe('a process', () => {
  /** The modules that `serve` loads until it has answered a call and ended. */
  async function loads(more: string, entry: string, server = ''): Promise<readonly string[]> {
    const [issuer, upstream] = [await forThisTest(startIssuer()), await forThisTest(startUpstream())];
    const yaml = `
public_url: http://gateway.test
listen: 127.0.0.1:0
admin: { listen: '127.0.0.1:0' }
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] }${server} } }
${more}
`;
    const files = { 'policies/tools.yaml': `tools: { pay: ${entry} }` };
    return inFolder({ yaml: yaml.replaceAll('UPSTREAM', upstream.url), files }, async (folder) => {
      const list = join(folder, 'loaded');
      const env = { LOADED_MODULES: list, NODE_OPTIONS: `--import ${hooks.href}` };
      const gateway = sallyport(['serve'], folder, { env });
      const [, url] = await gateway.says(/"url":"(http:[^"]+)"/);
      const token = await issuer.sign({ aud: 'http://gateway.test/mcp', sub: 'alice', client_id: 'agent' });
      await (await postCall(`${url}/mcp`, 'pay', {}, { token })).text();
      gateway.signal('SIGTERM');
      expect(await gateway.ended).toBe(0);
      const urls = (await readFile(list, 'utf8')).split('\n');
      return urls.filter((each) => each.startsWith(root.href)).map((each) => each.slice(root.href.length));
    });
  }
  const route = (own = ''): string => `routes:
  - { name: tools, path: /mcp, protocol: mcp, policy: tools${own}, upstream: { url: "UPSTREAM/mcp" } }
`;
  const exchanging = 'token: exchange, exchange: { client_id: gateway, client_secret: secret }';
  const api = `  - { name: api, path: /api, audience: api, upgrade: websocket, dpop: {}, upstream: { url: "UPSTREAM", ${exchanging} } }\n`;

  const http = `routes:
  - { name: api, path: /mcp, audience: "http://gateway.test/mcp", upstream: { url: "UPSTREAM/mcp" } }
`;

  test.each<[protocol: string, routes: string, own: readonly string[]]>([
    ['HTTP', http, []],
    ['MCP', route(), ['MCP']],
  ])('loads no code of features that are off, with a route of %s', { timeout: 120_000 }, async (_, routes, own) => {
    const loaded = await loads(routes, '{}');
    expect(loaded).toContain('src/core/gateway/pipeline.ts');
    expect(loaded.filter((each) => each.startsWith('src/analysis/'))).toEqual([]);
    const used = Object.entries(features).filter(([, pattern]) => loaded.some((each) => pattern.test(each)));
    expect(used.map(([name]) => name)).toEqual(own);
  });

  test(
    'loads the code of features that are on, and sends the last spans before it ends',
    { timeout: 120_000 },
    async () => {
      const collector = await forThisTest(startCollector());
      const on = `telemetry: { otlp: "${collector.url}" }
forward_auth: { listen: 127.0.0.1:0 }
approvals: { authorization_servers: [main] }
decision_points: { acme: { url: "UPSTREAM" } }
revocation: { keep: 1d }
egress: { proxy: http://proxy.test:3128 }
shared: redis://127.0.0.1:1
session_key: k3y-of-at-least-thirty-two-characters
on_store_failure: open
`;
      const entry = '{ approval: { by: {}, self: true } }';
      const opaque = ', introspection: { client_id: gateway, client_secret: secret }';
      const loaded = await loads(on + route(', decision_point: acme') + api, entry, opaque);
      for (const pattern of Object.values(features))
        expect(loaded.filter((each) => pattern.test(each))).not.toEqual([]);
      expect(collector.spans.map(({ name }) => name)).toContain('POST /mcp');
    },
  );
});

test('no file loads the fetch of Node (src/core/lib/http/node-http.ts)', () => {
  const importing = [...statics].filter(([, imports]) => imports.some(({ target }) => target === 'node:http'));
  expect(importing.map(([path]) => path)).toEqual([]);
});
