import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createReloadableGateway, type ReloadableGateway } from '../../src/serve/reloadable-gateway.ts';
import type { Config } from '../../src/model/config.ts';
import type { AuthorizationServer } from '../../src/model/authorization-server.ts';
import { Log } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { startIssuer } from '../support/issuer.ts';
import { serverOf } from '../support/server.ts';
import { startBeforeEach } from '../support/start-before.ts';

let newest: ReloadableGateway;

const issuer = startBeforeEach(startIssuer);
beforeEach(async () => {
  const log = new Log(
    { level: 'error', decisions: 'all' },
    { write() {}, writeText() {}, dropped: 0, close: async () => {} },
  );
  newest = createReloadableGateway(configOf({}), { log, events: createMetrics().events, clock: Date.now });
});
afterEach(async () => {
  await newest.close();
});

/** A configuration as the loader would give it, in the parts that a gateway without routes looks at. */
function configOf(otherwise: Partial<Config>): Config {
  const main = serverOf(issuer);
  return {
    publicUrl: 'http://gateway.test',
    trustedProxies: [],
    certificateProxies: [],
    authorizationServers: new Map([['main', main]]),
    scopeHierarchy: new Map(),
    allowedHosts: new Set(),
    allowedOrigins: new Set(),
    limits: { requestBodyBytes: 1, requestHeadersBytes: 1, failures: undefined },
    log: { level: 'error', decisions: 'all' },
    routes: [],
    policies: new Map(),
    hash: '',
    ...otherwise,
    warnings: [],
  } as Config;
}

test('a configuration whose gateway cannot be built changes nothing, not even the shared store', async () => {
  const store = createServer((socket) => socket.destroy());
  store.listen(0, '127.0.0.1');
  await once(store, 'listening');
  const before = newest.current;
  const servers = newest.servers();
  const broken = configOf({
    shared: { url: `redis://127.0.0.1:${(store.address() as AddressInfo).port}`, onFailure: 'closed' },
    sessionKey: 'k3y-of-at-least-thirty-two-characters',
    authorizationServers: new Map([['other', serverOf(issuer, { name: 'other' })]]),
    // Its server is in no configuration that the loader would let through.
    routes: [
      { path: '/', authorizationServers: [{ name: 'main' } as AuthorizationServer] },
    ] as unknown as Config['routes'],
  });
  expect(() => newest.use(broken)).toThrow(TypeError);
  expect(newest.current).toBe(before);
  expect(newest.sharedStore()).toBeUndefined();
  expect(newest.servers()).toEqual(servers);
  store.close();
});
