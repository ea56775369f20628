import type { IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { outcome, outcomeIn } from '../../commands/run.ts';
import { folderWith } from '../../serve/config/folder.ts';
import { startCollector } from '../../support/collector.ts';
import { disclosures } from '../../support/secrecy.ts';
import { forThisTest } from '../../support/start-before.ts';
import { sendJson, startUpstream } from '../../support/upstream.ts';
import { startWorld } from '../../worlds/gateway.ts';
import { request } from '../../worlds/mcp.ts';

/** Nothing else looks like one of these. */
const canaries = ['cAnArY-constant-7431', 'cAnArY-of-acme-7431', 'cAnArY-of-others-7431'] as const;
const [constant, acme, fallback] = canaries;
const files = { 'secrets/acme': `${acme}\n` };
const headers =
  'headers: { X-Api-Key: "${env:CANARY}", X-Tenant: { by: tenant, values: { acme: "${env:ACME}" }, default: "${env:OTHERS}" }, X-Strict: { by: tenant, values: { acme: "${env:ACME}" } } }';
const env = { CANARY: constant, ACME: acme, OTHERS: fallback };

/** What a careless server repeats in its errors. */
function secretsIn({ headers: got }: IncomingMessage): string {
  return [got['x-api-key'], got['x-tenant']].join(' and ');
}

test('a value of a header is in no log, metric, error, page, trace or explanation', async () => {
  const collector = await forThisTest(startCollector());
  const world = await forThisTest(
    startWorld({
      top: `telemetry: { otlp: "${collector.url}", sample: 1 }\nlog: { level: debug, paths: true, claims: [tenant] }`,
      routes: [
        `name: api, path: /api, audience: a, policy: api, upstream: { url: "UPSTREAM", ${headers} }`,
        `name: tools, path: /mcp, protocol: mcp, audience: a, policy: tools, upstream: { url: "UPSTREAM/mcp", ${headers} }`,
        'name: gone, path: /gone, audience: a, upstream: { url: "http://127.0.0.1:9", headers: { X-Api-Key: "${env:CANARY}" } }',
      ],
      policies: { api: 'requests: { "* /**": {} }', tools: 'lock: report\ntools: { look: {} }', 'tools.lock': '{}' },
      env: () => env,
      // It repeats what it got in an error.
      upstream(incoming, response) {
        const all = secretsIn(incoming);
        if (incoming.url?.includes('reset') === true) incoming.socket.destroy();
        else if (incoming.url?.includes('broken') === true) incoming.socket.end(`HTTP/1.1 what ${all}\r\n\r\n`);
        else sendJson(response, 401, { error: { code: -32000, message: all } });
      },
    }),
  );
  const token = await world.token({ tenant: 'acme' });
  const stranger = await world.token({ tenant: 'other' });
  const call = JSON.stringify(request('tools/call', { name: 'look', arguments: {} }));
  const answers = [
    await world.send('/api/reset', { token }),
    await world.send('/api/broken', { token }),
    await world.send('/api/reset', { token: stranger }),
    await world.send('/gone', { token }),
    await world.post('/mcp', token, call),
    await world.post('/mcp', stranger, call),
  ];
  expect(answers.map(({ status }) => status)).toEqual([502, 502, 403, 502, 502, 403]);
  expect(JSON.stringify(world.upstream.seen)).toContain(constant);
  expect(JSON.stringify(world.upstream.seen)).toContain(acme);
  // The lock looked, and was refused.
  await world.gateway.line({ level: 'warn', route: 'tools' });

  const pages = [
    '/',
    '/metrics',
    '/readyz',
    '/console.json',
    '/console/policies',
    '/console/past',
    '/console/rates',
    '/decisions',
  ];
  const [{ decision = '' } = {}] = (await world.gateway.decisions(6)) as { decision?: string }[];
  const shown = await Promise.all(
    [...pages, `/console/decision?id=${decision}`].map(async (path) =>
      (await fetch(world.gateway.adminUrl + path)).text(),
    ),
  );
  await collector.until((spans) => spans.length >= 6);
  const everything = [
    ...answers.map(({ text, headers: all }) => text + JSON.stringify([...all])),
    ...shown,
    inspect(collector.spans, { depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity }),
    JSON.stringify(await world.gateway.lines()),
  ].join('\n');
  for (const canary of canaries) expect(everything).not.toContain(canary);
  expect(disclosures()).toEqual([]);
});

test('no command prints a value, whatever a server or the check says of it', async () => {
  const upstream = await forThisTest(
    startUpstream((incoming, response) => sendJson(response, 401, { error: `no access with ${secretsIn(incoming)}` })),
  );
  const yaml = `public_url: http://127.0.0.1:9
authorization_servers: { main: { issuer: "http://127.0.0.1:9", jwt: { algorithms: [RS256] } } }
routes:
  - { name: api, path: /api, audience: a, policy: api, upstream: { url: "${upstream.url}", ${headers} } }
  - { name: tools, path: /mcp, protocol: mcp, policy: tools, upstream: { url: "${upstream.url}/mcp", ${headers} } }
`;
  const policies = {
    'policies/api.yaml': 'requests: { "* /**": {} }',
    'policies/tools.yaml': 'lock: report\ntools: { look: {} }',
    'policies/tools.lock.yaml': '{}',
  };
  const folder = await folderWith({ yaml, files: { ...files, ...policies } });
  const claims = '{"sub":"alice","tenant":"acme"}';
  const said = [
    await outcome(['check'], folder, { env }),
    await outcome(['doctor'], folder, { env }),
    await outcome(['lock'], folder, { env }),
    await outcome(['lock', '--check'], folder, { env }),
    await outcome(['explain', '--route', 'tools', '--tool', 'look', '--claims', claims], folder, { env }),
    await outcome(
      ['init', 'new', '--upstream', `${upstream.url}/mcp`, '--header', 'X-Api-Key: ${env:CANARY}'],
      folder,
      { env },
    ),
    await outcomeIn({ yaml, files: policies, env }, ['check'], { env: { ...env, ACME: `${acme}\nx` } }),
    await outcomeIn({ yaml: yaml.replaceAll('X-Api-Key', 'Host'), files: policies }, ['check'], { env }),
  ];
  expect(upstream.seen.map(({ headers: got }) => got['x-api-key'])).toContain(constant);
  expect(said.map(({ code }) => code)).toEqual([0, 1, 1, 1, 0, 1, 1, 1]);
  const everything = JSON.stringify(said);
  for (const canary of canaries) expect(everything).not.toContain(canary);
  expect(everything).toContain('answered 401');
  expect(everything).toContain('a caller without an entry is refused');
});
