import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startDocumentedServer, type DocumentedServer, type Fixture } from '../support/documented-server.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { startBeforeAll } from '../support/start-before.ts';

const folder = new URL('../fixtures/authorization-servers/', import.meta.url);

async function fixtureOf(name: string): Promise<Fixture> {
  return JSON.parse(await readFile(new URL(name, folder), 'utf8')) as Fixture;
}

const fixtures = await Promise.all((await readdir(folder)).map(fixtureOf));
const named = (section: string): Fixture => fixtures.find((fixture) => fixture.section === section) ?? fixtures[0]!;

/** Heading → the blocks of YAML below it, without those for MCP clients. */
const page = await readFile(new URL('../../docs/authorization-servers.md', import.meta.url), 'utf8');
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    // A section without a configuration says what a server was found to do.
    .filter((text) => text.includes('```yaml\n') && !text.startsWith('MCP clients'))
    .map((text) => [text.slice(0, text.indexOf('\n')), blocksOf(text)] as const),
);

function blocksOf(text: string): { readonly gateway: string; readonly policies: Record<string, string> } {
  const blocks = [...text.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, block]) => block ?? '');
  const policies = blocks
    .filter((block) => block.startsWith('# policies/orders.yaml\n'))
    .map((block) => ['orders', block] as const);
  // Blocks that name a file are for MCP clients: test/docs/first-pages.test.ts loads them.
  const others = blocks.filter((block) => !/^# [\w/-]+\.yaml\n/.test(block));
  if (others.length !== 1) throw new Error(`not exactly one block for gateway.yaml in: ${text.slice(0, 40)}`);
  return { gateway: others[0] ?? '', policies: Object.fromEntries(policies) };
}

test('docs/authorization-servers.md and the fixtures are about the same servers', () => {
  expect([...sections.keys()].toSorted()).toEqual(fixtures.map(({ section }) => section).toSorted());
});

/** A gateway as the documentation says, before a server as its vendor documents it. */
interface World {
  readonly server: DocumentedServer;
  readonly upstream: Upstream;
  readonly gateway: TestGateway;
  /** The status of a call, and what the log says of it. */
  call(token: string): Promise<{ status: number } & Record<string, unknown>>;
  close(): Promise<void>;
}

async function start(fixture: Fixture, edit: (yaml: string) => string = (yaml) => yaml): Promise<World> {
  const blocks = sections.get(fixture.section);
  if (blocks === undefined) throw new Error(`${fixture.section} is not documented`);
  const [server, upstream, secrets] = await Promise.all([
    startDocumentedServer(fixture),
    startUpstream(),
    mkdtemp(join(tmpdir(), 'sallyport-secrets-')),
  ]);
  let yaml = server.local(edit(blocks.gateway)).replace('http://orders:3000', upstream.url);
  for (const [i, file] of (fixture.files ?? []).entries()) {
    const here = join(secrets, String(i));
    await writeFile(here, server.clientKey.export({ type: 'pkcs1', format: 'pem' }));
    yaml = yaml.replace(file, here);
  }
  const { environment: env = {} } = fixture;
  // A second way with the same server has the policy of the first.
  const { policies } = sections.get(fixture.section.replace(/ with .*/, '')) ?? blocks;
  const gateway = await startTestGateway({ yaml, policies, env });
  await rm(secrets, { recursive: true });
  return {
    server,
    upstream,
    gateway,
    async call(token) {
      const headers = { authorization: `Bearer ${token}` };
      const { status } = await fetch(`${gateway.url}/orders`, { headers });
      return { status, ...(await gateway.decision()) };
    },
    async close() {
      await gateway.close();
      await Promise.all([server.close(), upstream.close()]);
    },
  };
}

describe.each(fixtures)('$section', (fixture) => {
  const world = startBeforeAll(() => start(fixture));

  test('its access token is accepted, and the log names its subject', async () => {
    const { status, ...said } = await world.call(await world.server.token());
    expect({ status, reason: said['reason'], detail: said['detail'] }).toMatchObject({ status: 200 });
    expect(said).toMatchObject(fixture.expected);
    const phantom = world.server.phantom();
    const sent = world.upstream.seen.at(-1)?.headers.authorization;
    expect(sent).toBe(phantom === undefined ? undefined : `Bearer ${phantom}`);
  });

  test('a token without the claims of the policy is refused', async () => {
    expect(await world.call(await world.server.token(fixture.missing))).toMatchObject({
      status: 403,
      reason: 'claim.denied',
    });
  });

  test('an ID token is refused with any audience', async () => {
    const { aud } = (fixture.accessToken ?? { claims: fixture.introspection?.answer as Record<string, unknown> })
      .claims;
    for (const otherwise of [{}, { aud }]) {
      const said = await world.call(await world.server.sign(fixture.idToken, otherwise));
      expect(said['status']).toBe(401);
      expect(fixture.introspection === undefined ? ['token.type'] : ['token.form', 'token.inactive']).toContain(
        said['reason'],
      );
    }
  });
});

describe('Microsoft Entra ID', () => {
  const tenant = '11111111-2222-3333-4444-555555555555';
  const fixture = named('Microsoft Entra ID, v2.0 tokens');

  test('the metadata of common has an issuer template, which no token matches', async () => {
    const location = Object.keys(fixture.documents)[0] ?? '';
    const issuer = 'https://login.microsoftonline.com/{tenantid}/v2.0';
    const documents = {
      [location.replace(tenant, 'common')]: { ...(fixture.documents[location] as object), issuer },
    };
    const world = await start({ ...fixture, documents }, (yaml) => yaml.replace(tenant, 'common'));
    const said = await world.call(await world.server.token());
    const readiness = await (await fetch(`${world.gateway.adminUrl}/readyz`)).text();
    await world.close();
    expect(said).toMatchObject({ status: 401, reason: 'token.issuer' });
    expect(readiness).toContain('{tenantid}');
  });

  test('an application without a user has roles instead of scopes', async () => {
    const world = await start(fixture);
    const application = { scp: null, azpacr: '1', preferred_username: null, name: null };
    const all = await world.call(await world.server.token({ ...application, roles: ['Orders.Read.All', 'Trader'] }));
    const none = await world.call(await world.server.token({ ...application, roles: ['Trader'] }));
    await world.close();
    expect([all.status, none.status]).toEqual([200, 403]);
  });
});
