import { randomBytes } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { testPolicies } from '../../src/cli/test-policies.ts';
import { loadConfig } from '../../src/config/load.ts';
import { certificate } from '../support/certificates.ts';
import { blocksIn, sectionsOf } from './page.ts';

/** The keys of gateway.yaml that a recipe leaves out. */
const usual: Readonly<Record<string, (policy: string) => string>> = {
  public_url: () => 'http://127.0.0.1:8080',
  authorization_servers: () => '{ main: { issuer: https://as.example.com, jwt: { algorithms: [RS256] } } }',
  routes: (policy) =>
    policy === ''
      ? '[{ name: r, path: /mcp, protocol: mcp, upstream: { url: http://mcp:1 } }]'
      : `[{ name: r, path: /mcp, protocol: mcp, policy: ${policy}, upstream: { url: http://mcp:1 } }]`,
};

const sections = await sectionsOf('cookbook.md');
/** The tests that the page does not show, by the name of their policy. */
const testFolder = new URL('../../docs/cookbook/', import.meta.url);
const tests = new Set((await readdir(testFolder)).map((file) => file.replace('.test.yaml', '')));
/** The other pages that show parts of `gateway.yaml` or a policy: page and section → its text. */
const shown = new Map<string, string>();
for (const page of [
  'running.md',
  'deployment.md',
  'forward-auth.md',
  'sender-constrained-tokens.md',
  'configuration.md',
]) {
  const intro = (await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8')).split(/^## /m)[0] ?? '';
  for (const [heading, text] of [['', intro] as const, ...(await sectionsOf(page))]) {
    if (/^# (?:gateway|policies\/\w+)\.yaml$/m.test(text)) shown.set(`${page}#${heading}`, text);
  }
}
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-cookbook-'));
  await mkdir(join(folder, 'policies'));
  await mkdir(join(folder, 'tls'));
  await cp(certificate('server'), join(folder, 'tls/tls.crt'));
  await cp(certificate('server-key'), join(folder, 'tls/tls.key'));
  await cp(certificate('ca'), join(folder, 'tls/clients.crt'));
  vi.stubEnv('SESSION_KEY', randomBytes(32).toString('base64'));
  vi.stubEnv('SSF_TOKEN', 'a-token-of-the-receiver');
  const secrets = [
    'GATEWAY_CLIENT_SECRET',
    'HOOK_SECRET',
    'PDP_TOKEN',
    'BANK_SECRET',
    'PARTNER_SECRET',
    'PROVIDER_SECRET',
  ];
  for (const name of secrets) vi.stubEnv(name, 'secret');
  vi.stubEnv('ADMIN_TOKEN', 'of-the-operators-0123');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** Writes a recipe's files, completed by the usual keys, and returns the names of its policies. */
async function written(recipe: string): Promise<readonly string[]> {
  const blocks = blocksIn(recipe)
    .filter(({ language }) => language === 'yaml')
    .map(({ file, text }) => ({ file: file ?? '', text }));
  const names = blocks.flatMap(({ file }) => /^policies\/([\w-]+)\.yaml$/.exec(file)?.[1] ?? []);
  const own = blocks.find(({ file }) => file === 'gateway.yaml')?.text ?? '';
  const missing = Object.entries(usual).filter(([key]) => !new RegExp(`^${key}:`, 'm').test(own));
  const around = missing.map(([key, value]) => `${key}: ${value(names[0] ?? '')}\n`).join('');
  for (const { file, text } of blocks) {
    await writeFile(join(folder, file), file === 'gateway.yaml' ? `${text}${around}` : text);
  }
  if (own === '') await writeFile(join(folder, 'gateway.yaml'), around);
  for (const name of names.filter((name) => tests.has(name))) {
    await cp(new URL(`${name}.test.yaml`, testFolder), join(folder, `policies/${name}.test.yaml`));
  }
  return names;
}

test.each([...sections.keys()])('%s: the files load, and the tests decide every rule', async (recipe) => {
  const names = await written(sections.get(recipe) ?? '');
  const config = await loadConfig(join(folder, 'gateway.yaml'));
  expect([...config.policies.keys()].toSorted()).toEqual(names.toSorted());
  if (names.length === 0) return;
  // Each policy is used by a route, so that the recipe shows its purpose.
  expect(new Set(config.routes.flatMap(({ policy }) => policy?.name ?? []))).toEqual(new Set(names));

  let said = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean((said += String(text))));
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((said += String(text))));
  const code = await testPolicies({
    config: join(folder, 'gateway.yaml'),
    filter: undefined,
    watch: false,
    junit: undefined,
    coverage: true,
    'require-coverage': true,
  });
  vi.restoreAllMocks();
  expect({ code, said }).toMatchObject({ code: 0 });
  for (const name of names) expect(said).toContain(`${name}.test.yaml`);
});

test('the other pages have parts of the files, and docs/configuration.md has one in each section', async () => {
  const keys = [...(await sectionsOf('configuration.md')).keys()].map((heading) => `configuration.md#${heading}`);
  expect(keys.length).toBeGreaterThan(10);
  expect([...shown.keys()]).toEqual([
    'running.md#Several replicas',
    'running.md#TLS',
    'running.md#Rate limits',
    'deployment.md#Proxies in front',
    'forward-auth.md#',
    'sender-constrained-tokens.md#DPoP',
    ...keys,
  ]);
});

test.each([...shown])('%s: what it shows loads', async (_, text) => {
  const names = await written(text);
  const { policies } = await loadConfig(join(folder, 'gateway.yaml'));
  expect([...policies.keys()]).toEqual(names);
});

test('each recipe says when to use it', () => {
  const openings = [...sections.values()].map((text) => text.slice(0, text.indexOf('```')));
  expect(openings.filter((opening) => !/\b(?:when|for|before|where)\b[^.]+/i.test(opening))).toEqual([]);
});
