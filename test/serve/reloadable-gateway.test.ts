import { afterEach, beforeEach, expect, test } from 'vitest';
import { createReloadableGateway, type ReloadableGateway } from '../../src/serve/reloadable-gateway.ts';
import { approvalSettings } from '../../src/ports/approval-settings.ts';
import type { Config } from '../../src/ports/config.ts';
import { ownEgress } from '../../src/ports/own-requests.ts';
import type { AuthorizationServer } from '../../src/core/model/authorization-server.ts';
import type { Route } from '../../src/core/model/route.ts';
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
const configOf = (server: string, top = ''): Promise<Config> =>
  loaded({
    yaml: `public_url: http://gateway.test
${top}
authorization_servers: { ${server}: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes: [{ name: api, path: /, audience: a, upstream: { url: "http://127.0.0.1:1" } }]
`,
  });

/** Settings with which a capability throws when it opens. */
const brokenApprovals = {
  get url(): string {
    throw new TypeError('broken');
  },
};
// No configuration that the loader lets through has either.
test.each<[what: string, parts: (config: Config) => Partial<Config>]>([
  [
    'gateway',
    () => ({
      routes: [{ path: '/', authorizationServers: [{ name: 'main' } as AuthorizationServer] }] as unknown as Route[],
    }),
  ],
  ['capability', ({ slots }) => ({ slots: new Map([...slots, [approvalSettings, brokenApprovals]]) })],
])('a configuration whose %s cannot be built changes nothing, not even the shared store', async (_what, parts) => {
  const before = newest.current;
  // It is discovered in the background.
  await expect.poll(() => newest.servers()[0]?.state).toBe('available');
  const servers = newest.servers();
  const config = await configOf('other', 'egress: { proxy: "http://127.0.0.1:1" }');
  const broken: Config = {
    ...config,
    shared: { url: 'redis://127.0.0.1:1', onFailure: 'closed' },
    sessionKey: 'k3y-of-at-least-thirty-two-characters',
    ...parts(config),
  };
  await expect(newest.use(broken)).rejects.toThrow(TypeError);
  expect(newest.current).toBe(before);
  expect(newest.sharedStore()).toBeUndefined();
  expect(newest.servers()).toEqual(servers);
  expect(ownEgress()).toBeUndefined();
});
