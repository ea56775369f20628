import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { restartKeys } from '../../schema/compile.ts';
import gatewaySchema from '../../schema/gateway.schema.json' with { type: 'json' };
import { commands } from '../../src/commands/commands.ts';

test('docs/commands.md has every command', async () => {
  const text = await readFile('docs/commands.md', 'utf8');
  for (const name of Object.keys(commands)) expect(text).toContain(`\`sallyport ${name}`);
});

test('docs/configuration.md marks each key that needs a restart', async () => {
  const keys = restartKeys(gatewaySchema);
  expect(keys.length).toBeGreaterThan(4);
  const text = await readFile('docs/configuration.md', 'utf8');
  for (const key of keys)
    expect(text).toMatch(new RegExp(`^- \`${key.replaceAll('.', '\\.')}\`:.*A change needs a restart`, 'm'));
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
