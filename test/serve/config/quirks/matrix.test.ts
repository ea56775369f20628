/**
 * Known clients × known providers, from the tables of `src/serve/config/quirks`: each cell is signed in, listed, called, stepped up,
 * refreshed and stepped up again, or stops at the step and for the cause that the table says. Clients whose rows differ only
 * in what no provider sees send the same requests, so that one of them walks for all.
 *
 * @module
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ClientQuirks, clients, obstaclesOf } from '../../../../src/serve/config/quirks/clients.ts';
import { type ProviderQuirks, providers } from '../../../../src/serve/config/quirks/providers.ts';
import { startTestGateway, type TestGateway } from '../../../support/gateway.ts';
import { freePort } from '../../../support/ports.ts';
import { ownClient, type ProviderName, startQuirkyServer } from '../../../support/quirky-server.ts';
import { Stopped, walk } from '../../../support/simulated-client.ts';
import { sendJson, type RequestHandler, startUpstream } from '../../../support/upstream.ts';
import { startFrontDoorWorld } from '../../../worlds/front-door.ts';
import { startBeforeAll } from '../../../support/start-before.ts';

const policy = 'scope: read\ntools:\n  look: {}\n  pay: { scope: write }\n  admin: { scope: admin }\n';
const rows = Object.entries<ClientQuirks>(clients);
/** The first row of each kind of client: the providers here accept any redirect URI. */
const kinds = [...Map.groupBy(rows, ([, row]) => kindOf(row)).values()].flatMap((alike) => alike.slice(0, 1));

function kindOf(row: ClientQuirks): string {
  const unseen = { title: '', facts: {}, redirectUris: [], metadataDocument: undefined };
  return JSON.stringify({ ...row, ...unseen, stepUp: row.stepUp !== 'no' });
}

/** An MCP server with the three tools. */
const tools: RequestHandler = (_request, response, body) => {
  const { id, method } = JSON.parse(body) as { readonly id: number; readonly method: string };
  const list = ['look', 'pay', 'admin'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  const result = method === 'tools/list' ? { tools: list } : { content: [{ type: 'text', text: 'done' }] };
  sendJson(response, 200, { jsonrpc: '2.0', id, result });
};

const upstream = startBeforeAll(() => startUpstream(tools));

/** What each obstacle looks like to the client. */
const told: Readonly<Record<string, RegExp>> = {
  'issuer with a path': /^no metadata at/,
  'PKCE not listed': /code_challenge_methods_supported/,
  'endpoint at another origin': /another origin/,
  'origin as `resource`': /^invalid_target: (?:AADSTS9010010|unknown resource)/,
  'no scope': /AADSTS900144/,
  'no step-up': /^it does not ask for/,
};

const products = Object.entries<ProviderQuirks>(providers);
// The tokens of the others are for their own APIs.
const direct = products.filter(([, row]) => row.isOwnApisOnly !== true).map(([name]) => name as ProviderName);

describe.each(direct)('%s', (name) => {
  const world = startBeforeAll(() => startBefore(name));

  test.each(kinds)('R-313: with %s', async (_name, client) => {
    const [obstacle] = obstaclesOf({ client, server: providers[name], endpointsAtRoot: false });
    const mustBeKnown = providers[name].registration === 'none' || name === 'cognito';
    const walked = walk(client, world.url, mustBeKnown ? { clientId: ownClient } : {});
    expect(await outcomeOf(walked)).toEqual(obstacle === undefined ? 'through' : [obstacle.at, obstacle.cause]);
  });
});

/** How a walk ends: through, or where the client stopped, and the cause by the error that it got. */
function outcomeOf(walked: Promise<void>): Promise<unknown> {
  return walked.then(
    () => 'through',
    (error: unknown) => (error instanceof Stopped ? [error.at, causeOf(error.message)] : error),
  );
}

/** The obstacle by the error that a client got, or else the error. */
function causeOf(message: string): string {
  return Object.entries(told).find(([, pattern]) => pattern.test(message))?.[0] ?? message;
}

/** A gateway in front of one provider. */
interface ProviderWorld {
  readonly url: string;
  readonly gateway: TestGateway;
  readonly close: () => Promise<void>;
}

/** Starts one, with more lines of its configuration. */
async function startBefore(name: ProviderName, more = ''): Promise<ProviderWorld> {
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}/mcp`;
  const server = await startQuirkyServer(name, url);
  const gateway = await startTestGateway({
    publicUrl: `http://${listen}`,
    listen,
    policies: { tools: policy },
    yaml: `
${more}
authorization_servers: { main: { issuer: "${server.issuer}", ${server.settings} } }
routes:
  - name: tools
    path: /mcp
    protocol: mcp
    audience: ${server.audience}
    resource: { scopes_supported: [read, write, admin] }
    policy: tools
    upstream: { url: "${upstream.url}/mcp" }
`,
  });
  return {
    url,
    gateway,
    async close() {
      await gateway.close();
      await server.close();
    },
  };
}

test('R-313: google: its tokens open nothing, and the log says why', async () => {
  const { url, gateway, close } = await startBefore('google');
  onTestFinished(close);
  await expect(walk(clients.inspector, url, { clientId: ownClient })).rejects.toMatchObject({ at: 'call' });
  expect(await gateway.decision({ reason: 'token.form' })).toMatchObject({ allow: false });
});

test('R-313: oauth_endpoints_at_root leads a client that refuses the metadata', async () => {
  const { url, close } = await startBefore('entra', 'oauth_endpoints_at_root: main');
  onTestFinished(close);
  await expect(walk(clients.claude, url, { clientId: ownClient })).resolves.toBeUndefined();
});

// The clients see nothing of the provider, and the provider nothing of them: one client walks the others.
describe.each([
  ['entra', rows],
  ['cognito', kinds.slice(0, 1)],
  ['keycloak', kinds.slice(0, 1)],
  ['google', kinds.slice(0, 1)],
] as const)('the front door before %s', (name, walking) => {
  const world = startBeforeAll(() =>
    startFrontDoorWorld({
      startProvider: () => startQuirkyServer(name, 'https://not.asked.for/'),
      upstream: upstream.url,
      policy,
      scopes: '{ read: { title: Read }, write: { title: Write }, admin: { title: Administer } }',
      claims: '{ tenant: tid }',
      frontDoor: `clients:
    refresh: true
    registration: { redirect_uris: [${[...rows]
      .map(([key]) => key)
      .filter((key) => clients[key as 'vscode'].redirectUris.length > 0)
      .map((key) => `known:${key}`)
      .join(', ')}, known:loopback] }`,
    }),
  );

  test.each(walking)('R-313: with %s', async (_name, client) => {
    const walked = walk(client, world.mcpUrl.href, { query: '?utm_source=x' });
    const stops = ['step-up', 'no step-up'];
    expect(await outcomeOf(walked)).toEqual(client.stepUp === 'no' ? stops : 'through');
  });
});
