import { beforeEach, describe, expect, test } from 'vitest';
import { startEditedGateway } from '../support/gateway.ts';
import { startIssuer } from '../support/issuer.ts';
import { startUpstream } from '../support/upstream.ts';
import { startBeforeEach } from '../support/start-before.ts';

let jwt: string;

interface Edit {
  readonly introspection?: string;
  readonly jwt?: string;
  readonly path?: string;
  readonly route?: string;
}

const yamlOf = ({
  introspection = 'cache: 10m',
  jwt = 'algorithms: [RS256]',
  path = '/api',
  route = '',
}: Edit): string => `
limits: { failures: off }
authorization_servers:
  main:
    issuer: ${issuer.url}
    jwt: { ${jwt} }
    introspection: { client_id: gateway, client_secret: s3cr3t, ${introspection} }
routes:
  - { name: api, path: ${path}, audience: a, policy: api, upstream: { url: "${upstream.url}" }${route && `, ${route}`} }
`;

const issuer = startBeforeEach(startIssuer);
const upstream = startBeforeEach(startUpstream);
const gateway = startBeforeEach(() => startEditedGateway(yamlOf({}), { api: 'scope: read\n' }));
beforeEach(async () => {
  issuer.introspection.set('opaque', { active: true, sub: 'alice', aud: 'a', scope: 'read' });
  jwt = await issuer.sign({ aud: 'a', scope: 'read' });
  // Both are known from now on.
  await Promise.all([status(jwt), status('opaque')]);
});

/** Saves, and waits until other text than before is in force: that of a moment ago may be read once more. */
async function take(name: string, text: string): Promise<void> {
  const isNew = (line: Record<string, unknown>): boolean =>
    line['msg'] === 'configuration reloaded' && line['config'] !== line['before'];
  const taken = async (): Promise<number> => (await gateway.lines()).filter(isNew).length;
  const before = await taken();
  await gateway.save(name, text);
  await expect.poll(taken).toBeGreaterThan(before);
}

async function status(token: string, path = '/api'): Promise<number> {
  const answer = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${token}` } });
  await answer.body?.cancel();
  return answer.status;
}

// test/tokens/accept.test.ts has every reason that a reload checks.
describe('what is cached before an edit is decided by the new files', () => {
  test.each<[string, Edit, jwt: number, opaque: number]>([
    ['another audience', { route: 'methods: [GET, POST], keepalive: 1s' }, 200, 200],
    ['opaque tokens alone', { route: 'tokens: [opaque]' }, 401, 200],
    ['another algorithm', { jwt: 'algorithms: [ES256]' }, 401, 200],
    ['proof of possession', { route: 'dpop: { required: true }' }, 401, 401],
  ])('%s', async (_what, edit, ofJwt, ofOpaque) => {
    await take('gateway.yaml', yamlOf(edit));
    const before = upstream.seen.length;
    expect([await status(jwt), await status('opaque')]).toEqual([ofJwt, ofOpaque]);
    expect(upstream.seen.length - before).toBe([ofJwt, ofOpaque].filter((each) => each === 200).length);
  });

  test('checks a withdrawn key with the new settings', async () => {
    issuer.keys = [];
    await take('gateway.yaml', yamlOf({ jwt: `algorithms: [RS256], jwks: "${issuer.url}/jwks"` }));
    expect(await status(jwt)).toBe(401);
  });
});

test('a broken file changes no decision, and its content is not logged', async () => {
  const secret = 'hunter2-the-secret-of-a-broken-file';
  const policies = [
    '',
    'scope: [read',
    'scopes: read\n',
    'null\n',
    '[]\n',
    'a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n',
  ].map((text) => ['policies/api.yaml', text] as const);
  const configurations = [
    `authorization_servers:\n  main: { client_secret: ${secret}`,
    `session_key: { ${secret}: ${secret} }\n`,
  ].map((text) => ['gateway.yaml', text] as const);
  const refusals = async (): Promise<number> =>
    (await gateway.lines()).filter(({ level, msg }) => level === 'error' && String(msg).includes('refused')).length;
  for (const [file, text] of [...policies, ...configurations]) {
    const before = await refusals();
    await gateway.save(file, text);
    await expect.poll(refusals, { message: text }).toBeGreaterThan(before);
    expect([await status(jwt), await status('opaque'), await status('forged')]).toEqual([200, 200, 401]);
    expect(await gateway.metrics()).toContain('sallyport_config_last_reload_successful 0');
  }
  for (const told of [JSON.stringify(await gateway.lines()), JSON.stringify(await gateway.ready())]) {
    for (const hidden of [secret, jwt, 's3cr3t']) expect(told).not.toContain(hidden);
  }
});
