import { isUtf8 } from 'node:buffer';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { disk, type Files } from '../../../src/core/config/files.ts';
import { load } from '../../../src/serve/config/load.ts';
import { ConfigError } from '../../../src/core/config/problems.ts';
import type { Config } from '../../../src/ports/config.ts';

/** Files by path, and the environment they are read in. */
export interface Situation {
  readonly yaml: string | Buffer;
  /** Path within the folder → content. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
  readonly env?: NodeJS.ProcessEnv;
}

/** A configuration that has one of everything that rows of the tests change. */
export const base = `public_url: http://127.0.0.1:8080
authorization_servers:
  main:
    issuer: http://127.0.0.1:9000
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: s3cr3t }
routes:
  - name: api
    path: /api
    audience: https://api.example
    upstream:
      url: http://127.0.0.1:3000
`;

/** {@link base} with replacements; each must find its text. */
export function edited(...edits: readonly (readonly [from: string, to: string])[]): string {
  let text = base;
  for (const [from, to] of edits) {
    if (!text.includes(from)) throw new Error(`not in the text: ${from}`);
    text = text.replace(from, () => to);
  }
  return text;
}

/** A folder with the files of a situation. The end of the run removes it. */
export async function folderWith({ yaml, files = {} }: Situation): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-config-'));
  await mkdir(join(folder, 'policies'));
  for (const [path, content] of Object.entries({ 'gateway.yaml': yaml, ...files })) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

/** Lets `use` look at a folder with the files of a situation. */
export async function inFolder<T>(situation: Situation, use: (folder: string) => Promise<T>): Promise<T> {
  return use(await folderWith(situation));
}

const FOLDER = '/a/folder/in/memory';

/** The files of a situation, without a disk; others, such as certificates, are those of the disk. */
function inMemory({ yaml, files = {} }: Situation): Files {
  const contents = new Map(
    Object.entries({ 'gateway.yaml': yaml, ...files }).map(([path, text]) => [join(FOLDER, path), Buffer.from(text)]),
  );
  const below = (folder: string): readonly string[] =>
    [...contents.keys()].filter((path) => path.startsWith(`${folder}/`)).map((path) => path.slice(folder.length + 1));
  return {
    at: Date.now(),
    async names(folder) {
      const names = [...new Set(below(folder).map((path) => path.replace(/\/.*/, '')))];
      return names.length > 0 || folder === join(FOLDER, 'policies') ? names : undefined;
    },
    async text(file) {
      const content = contents.get(file);
      if (content !== undefined) {
        return isUtf8(content) ? { text: new TextDecoder().decode(content) } : { fault: 'is not UTF-8 text' };
      }
      if (!file.startsWith(FOLDER)) return disk.text(file);
      return { fault: file === FOLDER || below(file).length > 0 ? 'is not a file' : 'does not exist' };
    },
  };
}

/** Loads a configuration that must be good. */
export async function loaded(situation: Situation): Promise<Config> {
  return (await load(join(FOLDER, 'gateway.yaml'), situation.env ?? {}, inMemory(situation))).config;
}

/** The warnings of a configuration that must be good, without the name of the folder. */
export async function warningsIn(situation: Situation): Promise<readonly string[]> {
  return (await loaded(situation)).warnings.map((warning) => warning.replaceAll(`${FOLDER}/`, ''));
}

/**
 * The lines that a configuration is refused with, without the name of the folder; none when it is accepted. The keys that
 * a mapping accepts are left out: `accepted: …`. `test/core/config/schema.test.ts` has those.
 */
export async function refusals(situation: Situation): Promise<readonly string[]> {
  try {
    await loaded(situation);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) =>
      String(problem)
        .replaceAll(`${FOLDER}/`, '')
        .replace(/(: (?:has an )?unknown key.*; accepted: ).*/, '$1…'),
    );
  }
}
