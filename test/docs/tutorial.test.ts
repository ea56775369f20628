import { chmod, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accepts, freePort } from '../support/ports.ts';
import { blocksIn, sectionsOf, type Block } from './page.ts';
import { openShell, type Shell } from './shell.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** The ports on the page → free ports. */
const ports = new Map<string, string>();
let folder: string;
let shell: Shell;

async function begin(page: string): Promise<void> {
  for (const port of ['3001', '8080', '9000', '9090']) ports.set(port, String(await freePort()));
  folder = await mkdtemp(join(tmpdir(), 'sallyport-tutorial-'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const name of ['bin', 'demo']) await symlink(join(root, name), join(folder, name));
  await mkdir(join(folder, 'path'));
  // A replacement for npx in a checkout, without a call of npm each time. Like npx, it forwards no signal.
  await writeFile(
    join(folder, 'path/npx'),
    `#!/bin/sh\ncase $1 in sallyport) shift; node '${root}bin/sallyport.js' "$@";; *) "$@";; esac\nexit $?\n`,
  );
  await chmod(join(folder, 'path/npx'), 0o755);
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env;
  shell = openShell(folder, {
    PATH: `${folder}/path:${dirname(process.execPath)}:${PATH}`,
    HOME,
    NODE_COMPILE_CACHE,
    // The ports of the demo's programs that the page does not set.
    PORT: local('9000'),
    ISSUER: local('http://127.0.0.1:9000'),
    MCP_RESOURCE: local('http://127.0.0.1:8080/mcp'),
  });
  const text = await readFile(join(root, 'docs', page), 'utf8');
  await run(blocksIn(text.split(/^## /m)[0] ?? ''));
}

const pages = ['tutorial.md', 'http-api.md'];
const sectionsOfPages = await Promise.all(pages.map(async (page) => [page, await sectionsOf(page)] as const));

for (const [page, sections] of sectionsOfPages) {
  describe(`a reader of ${page} from the first section to the last`, { shuffle: false }, () => {
    beforeAll(() => begin(page));
    afterAll(async () => {
      await shell.close();
    });

    test.each([...sections.keys()].filter((name) => !name.startsWith('Where')))('%s', async (name) => {
      const blocks = blocksIn(sections.get(name) ?? '');
      expect(blocks).not.toHaveLength(0);
      await run(blocks);
    });

    test('leaves nothing behind', async () => {
      // Prints that each server was terminated.
      await shell.type('wait');
      expect(await shell.type('jobs -rp; ls')).toBe('bin\ndemo\nnode_modules\npath\n');
      for (const port of ports.values()) expect(await accepts(Number(port)), `a server listens on ${port}`).toBe(false);
    });
  });
}

async function run(blocks: readonly Block[]): Promise<void> {
  for (const [index, { language, text, file }] of blocks.entries()) {
    const shown = blocks[index + 1]?.language === 'text' ? linesOf(local(blocks[index + 1]?.text ?? '')) : [];
    if (language === 'sh') expectLines(await typed(local(text), shown), shown);
    else if (file !== undefined) await saved(file, local(text));
    else if (language !== 'text') throw new Error(`a block of an unknown kind: ${text}`);
  }
}

/** Types a block, and waits until a server that it starts in the background is up. */
async function typed(lines: string, shown: readonly Line[]): Promise<string> {
  const output = await shell.type(lines);
  if (!lines.endsWith(' &\n')) return output;
  const port = started.find(([pattern]) => pattern.test(lines))?.[1] ?? '';
  await reachable(Number(local(port)));
  for (const { pattern } of shown) await shell.shows(pattern);
  return shell.shown();
}

const started: readonly (readonly [RegExp, string])[] = [
  [/(?:items|api)\.mjs/, '3001'],
  [/authorization-server/, '9000'],
  [/serve/, '9090'],
];

async function reachable(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      socket.destroy();
    }
  }
}

/** Saves a file. If the gateway runs and watches it, waits until the edit has taken effect. */
async function saved(file: string, text: string): Promise<void> {
  const logged = (): Promise<string> => readFile(join(folder, 'tutorial/gateway.log'), 'utf8').catch(() => '');
  const before = await logged();
  await writeFile(join(folder, 'tutorial', file), text);
  if (before === '' || !file.endsWith('.yaml')) return;
  while (!(await logged()).slice(before.length).includes('"configuration reloaded"')) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

interface Line {
  readonly text: string;
  readonly pattern: RegExp;
}

/** Lines that the page shows; `…` matches anything, and the width of columns is ignored. */
function linesOf(text: string): readonly Line[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const words = line.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return {
      text: line,
      pattern: new RegExp(`^ *${words.replaceAll(/ *… */g, '.*').replaceAll(/ +/g, ' +')} *$`, 'm'),
    };
  });
}

/** Expects each line, in this order. */
function expectLines(output: string, wanted: readonly Line[]): void {
  let rest = output.split('\n');
  for (const { text, pattern } of wanted) {
    const at = rest.findIndex((each) => pattern.test(each));
    expect(at, `${text}\n\nis not in, or not here in\n\n${output}`).not.toBe(-1);
    rest = rest.slice(at + 1);
  }
}

function local(text: string): string {
  return text.replaceAll(/\b(?:3001|8080|9000|9090)\b/g, (port) => ports.get(port) ?? port);
}
