import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { restartKeys } from '../../schema/compile.ts';
import gatewaySchema from '../../schema/gateway.schema.json' with { type: 'json' };
import { commands } from '../../src/cli/commands.ts';
import { members } from '../../src/model/decision.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { sectionsOf } from './page.ts';

test('docs/running.md has every command', async () => {
  const text = (await sectionsOf('running.md')).get('Commands') ?? '';
  for (const name of Object.keys(commands)) expect(text).toContain(`\`sallyport ${name}`);
});

test('docs/configuration.md marks each key that needs a restart', async () => {
  const keys = restartKeys(gatewaySchema);
  expect(keys.length).toBeGreaterThan(4);
  const text = await readFile('docs/configuration.md', 'utf8');
  for (const key of keys)
    expect(text).toMatch(new RegExp(`^- \`${key.replaceAll('.', '\\.')}\`:.*A change needs a restart`, 'm'));
});

let issuer: Issuer;
let upstream: Upstream;
let gateway: TestGateway;
beforeAll(async () => {
  [issuer, upstream] = await Promise.all([startIssuer(), startUpstream()]);
  gateway = await startTestGateway({
    yaml: `
authorization_servers: { main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } } }
routes: [{ name: r, path: /mcp, protocol: mcp, audience: r, policy: p, upstream: { url: ${upstream.url} } }]
`,
    policies: { p: 'claims: { risk: { below: 5 }, long: { present: true } }\nresources: { "a:*": {} }\n' },
  });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([issuer.close(), upstream.close()]);
});

test('docs/monitoring.md has the table of members of a log line', async () => {
  const text = (await sectionsOf('monitoring.md')).get('The decision log') ?? '';
  const rows = [...text.matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)].map(([, name, about]) => ({ name, about }));
  const written = Object.values(members).flatMap((row) => ('wire' in row ? [row.wire] : []));
  expect(rows.filter(({ name }) => name !== 'level' && name !== 'msg')).toEqual(written);
});

test('docs/monitoring.md has every member of a log line', async () => {
  const send = async (uri: string): Promise<void> => {
    const token = await issuer.sign({ aud: 'r', risk: 1, long: 'x'.repeat(600), client_id: 'c', scope: 'read' });
    const params = { uri };
    await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', traceparent },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params }),
    });
  };
  await send('a:1');
  await send('b:1');
  const text = await readFile('docs/monitoring.md', 'utf8');
  const lines = await gateway.decisions(2);
  expect(lines).toHaveLength(2);
  const members = new Set(lines.flatMap((line) => Object.keys({ ...line, ...Object(line['input']) })));
  expect(members).toContain('omitted');
  expect([...members].filter((member) => !text.includes(`\`${member}\``))).toEqual([]);
});

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test('docs/internals/architecture.md names every folder and file of src/', async () => {
  const text = await readFile('docs/internals/architecture.md', 'utf8');
  const names = (await readdir('src', { withFileTypes: true })).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  );
  expect(names.filter((name) => name !== 'main.ts' && !text.includes(name))).toEqual([]);
});

test('every link between pages has a target', async () => {
  const pages = [
    'README.md',
    'SECURITY.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    ...(await readdir('docs', { recursive: true })).filter((name) => name.endsWith('.md')).map((n) => `docs/${n}`),
  ];
  const texts = new Map(await Promise.all(pages.map(async (page) => [page, await readFile(page, 'utf8')] as const)));
  const broken: string[] = [];
  for (const [page, text] of texts) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [file = '', anchor] = target.split('#');
      const path = file === '' ? page : new URL(file, `file:///${page}`).pathname.slice(1);
      const there = texts.get(path) ?? (await readFile(path, 'utf8').catch(() => isFolder(path)));
      if (there === undefined || (anchor !== undefined && !anchorsOf(there).has(anchor)))
        broken.push(`${page}: ${target}`);
    }
  }
  expect(broken).toEqual([]);
});

async function isFolder(path: string): Promise<string | undefined> {
  const names = await readdir(path).catch(() => undefined);
  return names?.join('\n');
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase());
  return new Set(headings.map((heading) => heading.replaceAll(/[^\w\- ]/g, '').replaceAll(' ', '-')));
}
