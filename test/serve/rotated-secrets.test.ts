import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type EditedGateway, sample, startEditedGateway } from '../support/gateway.ts';
import { startIssuer } from '../support/issuer.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { startUpstream } from '../support/upstream.ts';
import { refused } from './config/edits.ts';
import { edited } from './config/folder.ts';

const issuer = startBeforeAll(startIssuer);
const upstream = startBeforeAll(() => startUpstream());

/** Writes secrets as Kubernetes mounts them: `..data` is a link to the newest folder, and each name a link through it. */
async function mount(folder: string, generation: string, secrets: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(join(folder, generation), { recursive: true });
  for (const [name, text] of Object.entries(secrets)) await writeFile(join(folder, generation, name), text);
  await symlink(generation, join(folder, '..data_tmp'));
  await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  for (const name of Object.keys(secrets))
    await symlink(join('..data', name), join(folder, name)).catch((error: { code?: string }) => {
      if (error.code !== 'EEXIST') throw error;
    });
}

const yamlOf = (secrets: string, more = ''): string => `
authorization_servers:
  main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } }
routes:
  - name: api
    path: /api
    public: true
    upstream: { url: "${upstream.url}${more}", headers: { x-one: "\${file:${secrets}/one}", x-two: "\${file:${secrets}/two}" } }
`;

const pair = (generation: number) => ({ one: `s3cr3t-one-${generation}\n`, two: `s3cr3t-two-${generation}\r\n` });

async function sent(gateway: EditedGateway): Promise<readonly (string | undefined)[]> {
  await (await fetch(`${gateway.url}/api`)).text();
  const headers = upstream.seen.at(-1)?.headers;
  return [headers?.['x-one'], headers?.['x-two']].map((value) => value?.toString());
}

async function started(): Promise<{ secrets: string; gateway: EditedGateway }> {
  const secrets = await mkdtemp(join(tmpdir(), 'sallyport-secrets-'));
  await mount(secrets, '..1', pair(1));
  return { secrets, gateway: await forThisTest(startEditedGateway(yamlOf(secrets), {})) };
}

test('a swap of the symbolic link rotates secrets, and no call under load has a mixed or empty one', async () => {
  const { secrets, gateway } = await started();
  expect(await sent(gateway)).toEqual(['s3cr3t-one-1', 's3cr3t-two-1']);
  const before = upstream.seen.length;
  const over = new AbortController();
  const load = Array.from({ length: 8 }, async () => {
    while (!over.signal.aborted) expect((await fetch(`${gateway.url}/api`)).status).toBe(200);
  });
  for (const generation of [2, 3, 4]) {
    await gateway.after(() => mount(secrets, `..${generation}`, pair(generation)));
    await expect.poll(() => sent(gateway)).toEqual([`s3cr3t-one-${generation}`, `s3cr3t-two-${generation}`]);
  }
  over.abort();
  await Promise.all(load);
  const pairs = new Set(
    upstream.seen.slice(before).map(({ headers: { 'x-one': one, 'x-two': two } }) => [one, two].join(' ')),
  );
  expect([...pairs].toSorted()).toEqual([1, 2, 3, 4].map((each) => `s3cr3t-one-${each} s3cr3t-two-${each}`));
});

test.each([
  ['is gone', (file: string) => rm(file), 'does not exist'],
  ['is empty', (file: string) => writeFile(file, '\n'), 'is empty'],
  ['is no file any more', async (file: string) => rm(file).then(() => mkdir(file)), 'is not a file'],
  ['is no text', (file: string) => writeFile(file, Buffer.from([0xff, 0xfe])), 'is not UTF-8 text'],
])('a secret whose file %s keeps its last value, and other edits take effect', async (_, act, fault) => {
  const secrets = await mkdtemp(join(tmpdir(), 'sallyport-secrets-'));
  for (const [name, text] of Object.entries(pair(1))) await writeFile(join(secrets, name), text);
  const gateway = await forThisTest(startEditedGateway(yamlOf(secrets), {}));
  const file = join(secrets, 'one');
  await gateway.after(() => act(file));
  const problems = [`${file} ${fault}: its last value is still in force`];
  expect(await gateway.line({ level: 'warn', problems })).toMatchObject({
    msg: 'secrets cannot be read; their last values are still in force',
  });
  expect(await gateway.ready()).toMatchObject({ status: 'ready', warning: 'secrets cannot be read', problems });
  expect(await sample(gateway, 'sallyport_config_last_reload_successful')).toBe(0);
  expect(await sent(gateway)).toEqual(['s3cr3t-one-1', 's3cr3t-two-1']);

  await gateway.after(() => writeFile(join(secrets, 'two'), 's3cr3t-two-2'));
  expect(await sent(gateway)).toEqual(['s3cr3t-one-1', 's3cr3t-two-2']);
  await gateway.save('gateway.yaml', yamlOf(secrets, '/new'));
  await sent(gateway);
  expect(upstream.seen.at(-1)?.url).toBe('/new');

  await gateway.after(async () => {
    await rm(file, { recursive: true, force: true });
    await writeFile(file, 's3cr3t-one-3');
  });
  await expect.poll(() => sent(gateway)).toEqual(['s3cr3t-one-3', 's3cr3t-two-2']);
  await expect.poll(() => sample(gateway, 'sallyport_config_last_reload_successful')).toBe(1);
  expect(await gateway.ready()).not.toHaveProperty('problems');
});

test('a new secret without a file is refused as any edit, and so is an empty one at the start', async () => {
  const { secrets, gateway } = await started();
  await gateway.save('gateway.yaml', yamlOf(secrets).replace('/two}', '/three}'));
  expect((await gateway.ready())['problems']).toEqual([
    expect.stringMatching(/x-two: \$\{file:.*three\} does not exist$/),
  ]);
  expect(await sent(gateway)).toEqual(['s3cr3t-one-1', 's3cr3t-two-1']);
  const line = 'upstream:\n      headers: { x-a: "${file:empty}" }';
  expect(await refused(edited(['    upstream:', `    ${line}`]))).toEqual([
    ':12:23: routes[0].upstream.headers.x-a: ${file:empty} is empty',
  ]);
});

test('session_key needs a restart', async () => {
  const { secrets, gateway } = await started();
  await gateway.save('gateway.yaml', `session_key: k3y-of-at-least-thirty-two-characters\n${yamlOf(secrets)}`);
  const msg = 'session_key changed: a restart is needed for it, the rest is in force';
  expect(await gateway.line({ msg })).toMatchObject({ level: 'warn' });
});
