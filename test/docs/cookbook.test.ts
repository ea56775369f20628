import { randomBytes } from 'node:crypto';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { outcome } from '../commands/run.ts';
import { folderWith, loaded, type Situation } from '../serve/config/folder.ts';
import { pem } from '../support/certificates.ts';
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
const pages =
  'replicas tls-and-proxies limits migrating deployment forward-auth sender-constrained-tokens configuration'.split(
    ' ',
  );
for (const page of pages.map((name) => `${name}.md`)) {
  const intro = (await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8')).split(/^## /m)[0] ?? '';
  for (const [heading, text] of [['', intro] as const, ...(await sectionsOf(page))]) {
    if (/^# (?:gateway|policies\/\w+)\.yaml$/m.test(text)) shown.set(`${page}#${heading}`, text);
  }
}
const secrets = 'GATEWAY_CLIENT_SECRET HOOK_SECRET PDP_TOKEN BANK_SECRET PARTNER_SECRET PROVIDER_SECRET'.split(' ');
const env = {
  ...Object.fromEntries(secrets.map((name) => [name, 'secret'])),
  SESSION_KEY: randomBytes(32).toString('base64'),
  SSF_TOKEN: 'a-token-of-the-receiver',
  ADMIN_TOKEN: 'of-the-operators-0123',
};
/** Secrets and certificates, as files. */
const tls = {
  'secrets/crm': 'k3y',
  'tls/tls.crt': pem('server'),
  'tls/tls.key': pem('server-key'),
  'tls/clients.crt': pem('ca'),
};

/** A recipe's files, completed by the usual keys, and the names of its policies. */
function situationOf(recipe: string): { readonly names: readonly string[]; readonly situation: Situation } {
  const blocks = blocksIn(recipe).filter(({ language }) => language === 'yaml');
  const names = blocks.flatMap(({ file = '' }) => /^policies\/([\w-]+)\.yaml$/.exec(file)?.[1] ?? []);
  const own = blocks.find(({ file }) => file === 'gateway.yaml')?.text ?? '';
  const missing = Object.entries(usual).filter(([key]) => !new RegExp(`^${key}:`, 'm').test(own));
  const around = missing.map(([key, value]) => `${key}: ${value(names[0] ?? '')}\n`).join('');
  const files = Object.fromEntries(blocks.flatMap(({ file, text }) => (file === undefined ? [] : [[file, text]])));
  return { names, situation: { yaml: own + around, files: { ...tls, ...files, 'gateway.yaml': own + around }, env } };
}

test.each([...sections.keys()])('%s: the files load, and the tests decide every rule', async (recipe) => {
  const { names, situation } = situationOf(sections.get(recipe) ?? '');
  const config = await loaded(situation);
  expect([...config.policies.keys()].toSorted()).toEqual(names.toSorted());
  if (names.length === 0) return;
  // Each policy is used by a route, so that the recipe shows its purpose.
  expect(new Set(config.routes.flatMap(({ policy }) => policy?.name ?? []))).toEqual(new Set(names));
  const folder = await folderWith(situation);
  for (const name of names.filter((name) => tests.has(name))) {
    await cp(new URL(`${name}.test.yaml`, testFolder), join(folder, `policies/${name}.test.yaml`));
  }
  const { code, stdout } = await outcome(['test', '--require-coverage'], folder, { env });
  expect({ code, stdout }).toMatchObject({ code: 0 });
  for (const name of names) expect(stdout).toContain(`${name}.test.yaml`);
});

test('the other pages have parts of the files, and docs/configuration.md has one or a link in each section', async () => {
  const configuration = [...(await sectionsOf('configuration.md'))];
  const linked = configuration.filter(([, text]) => text.startsWith('\n['));
  expect(linked.map(([heading]) => heading)).toEqual(['tls', 'front_door', 'shared', 'limits']);
  const keys = configuration
    .filter((section) => !linked.includes(section))
    .map(([heading]) => `configuration.md#${heading}`);
  expect([...shown.keys()]).toEqual([
    'replicas.md#',
    'tls-and-proxies.md#TLS',
    'limits.md#Rate limits',
    'migrating.md#From agentgateway',
    'deployment.md#Proxies in front',
    'forward-auth.md#',
    'sender-constrained-tokens.md#DPoP',
    ...keys,
  ]);
});

test.each([...shown])('%s: what it shows loads', async (_, text) => {
  const { names, situation } = situationOf(text);
  const { policies } = await loaded(situation);
  expect([...policies.keys()]).toEqual(names);
});

test('each recipe says when to use it', () => {
  const openings = [...sections.values()].map((text) => text.slice(0, text.indexOf('```')));
  expect(openings.filter((opening) => !/\b(?:when|for|before|where)\b[^.]+/i.test(opening))).toEqual([]);
});
