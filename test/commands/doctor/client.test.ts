/** `doctor --client NAME`: where a known client would stop at a deployment, and what to change. */
import { beforeAll, describe, expect, test } from 'vitest';
import { examineClient, examineKnownClients } from '../../../src/commands/doctor/client.ts';
import { startFrontDoorWorld } from '../../worlds/front-door.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { startIssuer } from '../../support/issuer.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { sendJson } from '../../support/upstream.ts';
import { loaded } from '../../serve/config/folder.ts';
import { freePort } from '../../support/ports.ts';
import { outcome } from '../run.ts';
import { linesOf } from './found.ts';

describe('at the front door', () => {
  const world = startBeforeAll(() =>
    startFrontDoorWorld({
      frontDoor: 'clients: { registration: { redirect_uris: ["known:claude", "known:loopback"] } }',
    }),
  );

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
    const registration = {
      redirectUris: ['https://**'],
      known: [],
      device: false,
      initialAccessToken: undefined,
      lifetimeMs: 1,
    };
    const clients = { ...frontDoor.clients, registration };
    expect(await linesOf(examineKnownClients({ ...world.config, frontDoor: { ...frontDoor, clients } }))).toEqual([
      'warn routes.tools: Copilot Studio: it does not ask for the scope of a 403',
    ]);
  });
});

describe('at a server that publishes what Entra ID does', () => {
  const issuer = startBeforeAll(startIssuer);
  const yaml = (): string => `
authorization_servers: { main: { issuer: "${issuer.url}/tenant/v2.0", jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, resource: {}, upstream: { url: "http://127.0.0.1:9/mcp" } }
`;
  const gateway = startBeforeAll(async () =>
    startTestGateway({ yaml: yaml(), publicUrl: `http://127.0.0.1:${await freePort()}` }),
  );
  beforeAll(() => {
    const base = `${issuer.url}/tenant/v2.0`;
    const endpoints = { jwks_uri: `${issuer.url}/jwks`, authorization_endpoint: 'https://other.example/a' };
    issuer.answerAt('/tenant/v2.0/.well-known/openid-configuration', (_request, response) =>
      sendJson(response, 200, { issuer: base, ...endpoints }),
    );
  });

  test.each([
    ['claude', 'discovery: it refuses metadata without code_challenge_methods_supported'],
    ['claude-code', 'discovery: it looks for metadata only at the bare well-known path, and the issuer has a path'],
    ['codex', 'discovery: it refuses an authorization endpoint on another origin than the issuer without iss'],
  ])('R-312: %s stops at %s', async (name, cause) => {
    const config = await loaded({ yaml: `public_url: ${gateway.url}\n${yaml()}` });
    const lines = await linesOf(examineClient(name, config, false));
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^fail .*it stops at ${cause}`)));
    expect(lines).toContainEqual(expect.stringMatching(/^warn .*the server takes no registration of it/));
  });
});

test.each(['--client teapot', '--client claude --token -', '--register'])(
  'doctor %s is wrong usage',
  async (options) => {
    expect((await outcome(['doctor', ...options.split(' ')])).code).toBe(2);
  },
);
