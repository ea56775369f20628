import { afterEach, beforeEach, expect, test } from 'vitest';
import { createReloadableGateway, type ReloadableGateway } from '../../src/serve/reloadable-gateway.ts';
import type { Config } from '../../src/ports/config.ts';
import type { AuthorizationServer } from '../../src/core/model/authorization-server.ts';
import { Log } from '../../src/core/telemetry/log.ts';
import { metricRows } from '../../src/capabilities/all.ts';
import { createMetrics } from '../../src/core/telemetry/metrics.ts';
import { startIssuer } from '../support/issuer.ts';
import { loaded } from './config/folder.ts';
import { startBeforeEach } from '../support/start-before.ts';

let newest: ReloadableGateway;

const issuer = startBeforeEach(startIssuer);
beforeEach(async () => {
  const log = new Log(
    { level: 'error', decisions: 'all' },
    { write() {}, writeText() {}, dropped: 0, close: async () => {} },
  );
  const { events, meters } = createMetrics(metricRows);
  newest = await createReloadableGateway(await configOf('main'), { log, events, meters, clock: Date.now });
});
afterEach(async () => {
  await newest.close();
});

/** A configuration with one authorization server. */
const configOf = (server: string): Promise<Config> =>
  loaded({
    yaml: `public_url: http://gateway.test
authorization_servers: { ${server}: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes: [{ name: api, path: /, audience: a, upstream: { url: "http://127.0.0.1:1" } }]
`,
  });

test('a configuration whose gateway cannot be built changes nothing, not even the shared store', async () => {
  const before = newest.current;
  // It is discovered in the background.
  await expect.poll(() => newest.servers()[0]?.state).toBe('available');
  const servers = newest.servers();
  const broken: Config = {
    ...(await configOf('other')),
    shared: { url: 'redis://127.0.0.1:1', onFailure: 'closed' },
    sessionKey: 'k3y-of-at-least-thirty-two-characters',
    // Its server is in no configuration that the loader would let through.
    routes: [
      { path: '/', authorizationServers: [{ name: 'main' } as AuthorizationServer] },
    ] as unknown as Config['routes'],
  };
  await expect(newest.use(broken)).rejects.toThrow(TypeError);
  expect(newest.current).toBe(before);
  expect(newest.sharedStore()).toBeUndefined();
  expect(newest.servers()).toEqual(servers);
});
