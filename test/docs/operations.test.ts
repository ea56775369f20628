import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { restartKeys } from '../../schema/compile.ts';
import gatewaySchema from '../../schema/gateway.schema.json' with { type: 'json' };
import { commands } from '../../src/commands/commands.ts';
import { blocksIn } from './page.ts';

test('docs/commands.md has every command', async () => {
  const text = await readFile('docs/commands.md', 'utf8');
  for (const name of Object.keys(commands)) expect(text).toContain(`\`sallyport ${name}`);
});

test('commands in blocks of the pages exist, with their options', async () => {
  const pages = (await readdir('docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
  const wrong: string[] = [];
  let count = 0;
  for (const page of ['README.md', ...pages]) {
    const shell = blocksIn(await readFile(page, 'utf8')).filter(({ language }) => language === 'sh');
    const lines = shell.flatMap(({ text }) => text.replaceAll(/\\\n\s*/g, '').split('\n'));
    for (const line of lines) {
      const [, name = '', rest = ''] = /(?:^|npx |bin\/)sallyport ([a-z-]+)([^#|&>]*)/.exec(line) ?? [];
      if (name === '' || name === 'help') continue;
      count += 1;
      const options = Object.entries(commands[name]?.options ?? {});
      const known = new Set(options.flatMap(([long, { short }]) => [`--${long}`, `-${short}`]));
      const unknown = (rest.match(/(?<=\s)-{1,2}[a-z][\w-]*/g) ?? []).filter((option) => !known.has(option));
      if (commands[name] === undefined || unknown.length > 0) wrong.push(`${page}: ${line}`);
    }
  }
  expect(count).toBeGreaterThan(30);
  expect(wrong).toEqual([]);
});

test('docs/configuration.md marks each key that needs a restart', async () => {
  const keys = restartKeys(gatewaySchema);
  expect(keys.length).toBeGreaterThan(4);
  const text = await readFile('docs/configuration.md', 'utf8');
  for (const key of keys) expect(text).toMatch(new RegExp(`^- \`${key.replaceAll('.', '\\.')}\`:.*_Restart\\._`, 'm'));
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
