/** `doctor --client NAME`: where a known client would stop at a deployment, and what to change. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examineClient, examineKnownClients } from '../../../src/cli/doctor/client.ts';
import { type FrontDoorWorld, startFrontDoorWorld } from '../../worlds/front-door.ts';
import { startTestGateway, type TestGateway } from '../../support/gateway.ts';
import { type Issuer, startIssuer } from '../../support/issuer.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { inFolder } from '../../config/folder.ts';
import { freePort } from '../../support/ports.ts';
import { outcome } from '../run.ts';
import type { Config } from '../../../src/model/config.ts';
import { linesOf } from './found.ts';

describe('at the front door', () => {
  let world: FrontDoorWorld;
  beforeAll(async () => {
    world = await startFrontDoorWorld({
      frontDoor: 'clients: { registration: { redirect_uris: ["known:claude", "known:loopback"] } }',
    });
  });
  afterAll(() => world.close());

  test('R-312: a client that goes through has no failure, and is registered only where that is asked for', async () => {
    const registrations = (): number => world.observed.filter((line) => line.startsWith('registration')).length;
    const lines = await linesOf(examineClient('claude', world.config, false));
    expect(lines).toEqual([
      'ok Claude (web, Desktop) at routes.tools: a call without a token gets 401, and the challenge names the metadata',
      'ok Claude (web, Desktop) at routes.tools: it registers itself (--register tries that)',
    ]);
    expect(registrations()).toBe(0);
    expect(await linesOf(examineClient('claude', world.config, true))).toContain(
      'ok Claude (web, Desktop) at routes.tools: it could register itself; remove the client "(sallyport doctor)" there',
    );
    expect(registrations()).toBe(1);
  });

  test('R-312: a client whose redirect URI is not allowed is told by its URIs, and one without scope by the step-up', async () => {
    const lines = await linesOf(examineClient('copilot-studio', world.config, false));
    expect(lines.slice(1)).toEqual([
      'fail Copilot Studio at routes.tools: it stops at step-up: it does not ask for the scope of a 403',
      'fail Copilot Studio at routes.tools: its registration is refused: https://global.consent.azure-apim.net/redirect/doctor',
    ]);
  });

  test('R-312: without --client the rows that stop are warnings, for the clients that the front door admits', async () => {
    expect(await linesOf(examineKnownClients(world.config))).toEqual([
      'warn routes.tools: Codex: it does not ask for the scope of a 403',
    ]);
    const { frontDoor, routes } = world.config;
    if (frontDoor === undefined) throw new Error('no front door');
    const twoRoutes = routes.flatMap((route) => [route, { ...route, name: 'more-tools' }]);
    expect(await linesOf(examineKnownClients({ ...world.config, routes: twoRoutes }))).toEqual([
      'warn routes.tools, routes.more-tools: Codex: it does not ask for the scope of a 403',
    ]);
    const registration = { redirectUris: ['https://**'], known: [], initialAccessToken: undefined, lifetimeMs: 1 };
    const clients = { ...frontDoor.clients, registration };
    expect(await linesOf(examineKnownClients({ ...world.config, frontDoor: { ...frontDoor, clients } }))).toEqual([
      'warn routes.tools: Copilot Studio: it does not ask for the scope of a 403',
    ]);
  });
});

describe('at a server that publishes what Entra ID does', () => {
  let issuer: Issuer;
  let gateway: TestGateway;
  let config: Config;
  beforeAll(async () => {
    issuer = await startIssuer();
    const base = `${issuer.url}/tenant/v2.0`;
    issuer.intercept = ({ url }, response) => {
      if (url !== '/tenant/v2.0/.well-known/openid-configuration') return false;
      const document = {
        issuer: base,
        jwks_uri: `${issuer.url}/jwks`,
        authorization_endpoint: 'https://other.example/a',
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      return true;
    };
    const publicUrl = `http://127.0.0.1:${await freePort()}`;
    const yaml = `
authorization_servers: { main: { issuer: "${base}", jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, resource: {}, upstream: { url: "http://127.0.0.1:9/mcp" } }
`;
    gateway = await startTestGateway({ yaml, publicUrl, policies: {}, env: {} });
    config = await inFolder({ yaml: `public_url: ${gateway.url}\n${yaml}` }, (folder) =>
      loadConfig(join(folder, 'gateway.yaml'), {}),
    );
  });
  afterAll(() => Promise.all([gateway.close(), issuer.close()]));

  test.each([
    ['claude', 'discovery: it refuses metadata without code_challenge_methods_supported'],
    ['claude-code', 'discovery: it looks for metadata only at the bare well-known path, and the issuer has a path'],
    ['codex', 'discovery: it refuses an authorization endpoint on another origin than the issuer without iss'],
  ])('R-312: %s stops at %s', async (name, cause) => {
    const lines = await linesOf(examineClient(name, config, false));
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^fail .*it stops at ${cause}`)));
    expect(lines).toContainEqual(expect.stringMatching(/^warn .*the server takes no registration of it/));
  });
});

test('doctor --client takes the names of known clients, and no token beside it', async () => {
  expect((await outcome(['doctor', '--client', 'teapot'])).code).toBe(2);
  expect((await outcome(['doctor', '--client', 'claude', '--token', '-'])).code).toBe(2);
  expect((await outcome(['doctor', '--register'])).code).toBe(2);
});
