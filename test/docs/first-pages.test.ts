/**
 * The pages that users look for first: what they show of ours loads, and what they show of clients is well formed.
 *
 * @module
 */

import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { loaded } from '../serve/config/folder.ts';
import { certificate } from '../support/certificates.ts';
import { blocksIn, sectionsOf, type Block } from './page.ts';

const page = (name: string): Promise<string> => readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const yamlIn = (text: string): readonly Block[] => blocksIn(text).filter(({ language }) => language === 'yaml');

const env = {
  ZITADEL_SECRET: 'secret',
  PROVIDER_SECRET: 'secret',
  DESK_SECRET: 'secret',
  SESSION_KEY: 'a key of at least 32 random characters',
};

/** Loads the blocks of a section; the keys and policies that it leaves out are from `common`. */
function loadedFrom(section: readonly Block[], common: readonly Block[]) {
  const parts = (blocks: readonly Block[]) =>
    blocks.filter(({ file }) => file === 'gateway.yaml').map(({ text }) => text);
  const keysOf = (text: string) => text.split(/^(?=[a-z_]+:)/m).filter((part) => /^[a-z_]+:/.test(part));
  const keys = new Map([...parts(common), ...parts(section)].flatMap(keysOf).map((part) => [part.split(':')[0], part]));
  const policies = [...common, ...section].filter(({ file }) => file?.startsWith('policies/') === true);
  const files = Object.fromEntries(policies.map(({ file = '', text }) => [file, text]));
  return loaded({ yaml: [...keys.values()].join(''), files, env });
}

const providers = await sectionsOf('authorization-servers.md');
const forClients = providers.get('MCP clients') ?? '';
const withClients = [...providers].filter(([, text]) => text.includes('\n**MCP clients**: '));

/** The blocks of a provider for MCP clients; where none has its server, the server of the first block. */
function blocksOf(text: string): readonly Block[] {
  const [first, ...rest] = yamlIn(text);
  const servers = /^authorization_servers:.*?^(?=routes:)/ms.exec(first?.text ?? '')?.[0] ?? '';
  return [{ language: 'yaml', file: 'gateway.yaml', text: servers }, ...rest.filter(({ file }) => file !== undefined)];
}

describe('docs/authorization-servers.md', () => {
  test.each(withClients)('%s loads as an MCP route', async (_, text) => {
    const { routes } = await loadedFrom(blocksOf(text), yamlIn(forClients));
    expect(routes).toMatchObject([{ protocol: 'mcp', name: 'tools', resource: { name: 'Tools' } }]);
    expect(routes[0]?.policy).toBeDefined();
  });

  test('has a row for each provider with MCP clients, in its order', () => {
    const rows = [...forClients.matchAll(/^\| \[([^\]]+)\]/gm)].map(([, name = '']) => name);
    expect(rows.slice(0, withClients.length)).toEqual(withClients.map(([name]) => name.split(',')[0]));
    expect(rows[withClients.length]).toBe('Google');
  });
});

test.each([
  ['front-door.md', { policies: 1, blocks: 1 }],
  ['callers.md', { policies: 1, blocks: 6 }],
])('docs/%s has blocks that load, each within the first one of the front door', async (name, counts) => {
  const blocks = async (file: string) => yamlIn(await page(file)).filter(({ text }) => !text.startsWith('# in the'));
  const [first, ...others] = await blocks('front-door.md');
  const own = name === 'front-door.md' ? others : await blocks(name);
  const isPolicy = ({ file = '' }: Block): boolean => file.startsWith('policies/');
  const rest = own.filter((block) => !isPolicy(block));
  expect({ policies: own.filter(isPolicy).length, blocks: rest.length }).toEqual(counts);
  const policies = [...others, ...own].filter(isPolicy).map(({ file = '', text }) => [file, text]);
  const ca = await readFile(certificate('ca'), 'utf8');
  const files = { ...(Object.fromEntries(policies) as object), 'ca.crt': ca, token: 't0ken' };
  const whole = parse(first?.text ?? '') as Record<string, Record<string, unknown>>;
  for (const { text } of [{ text: '' }, ...rest]) {
    const {
      routes = [],
      front_door: more = {},
      ...keys
    } = (parse(text.replaceAll('/var/run/secrets/kubernetes.io/serviceaccount/', '')) ?? {}) as Record<
      string,
      unknown
    > as {
      routes?: readonly { readonly name: string }[];
      front_door?: object;
    };
    const merged = {
      ...whole,
      ...keys,
      front_door: {
        ...whole['front_door'],
        ...more,
        ...(routes.some((route) => route.name === 'signin') && { issuer: 'https://mcp.example.com/signin' }),
      },
      routes: [...(whole['routes'] as unknown as readonly unknown[]), ...routes],
    };
    const { frontDoor } = await loaded({ yaml: stringify(merged), files, env });
    expect([...(frontDoor?.providers.keys() ?? [])]).toEqual(['corporate']);
  }
});

test('docs/clients.md configures each client with the URL of the page, in valid JSON', async () => {
  const text = await page('clients.md');
  const blocks = blocksIn(text).filter(({ language }) => language === 'json');
  const found = blocks.map((block) => JSON.parse(block.text) as Record<string, Record<string, { url: string }>>);
  const urls = found.flatMap((file) => Object.values(file).flatMap((servers) => Object.values(servers)));
  expect(urls.map(({ url }) => url)).toEqual(blocks.map(() => 'https://mcp.example.com/mcp'));
  expect(blocks).toHaveLength(3);
});
