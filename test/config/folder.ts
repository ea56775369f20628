import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { load } from '../../src/config/load.ts';
import { ConfigError } from '../../src/config/problems.ts';
import type { Config } from '../../src/model/config.ts';

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

/** Writes files into a folder of their own, lets `use` look at it, and removes it. */
export async function inFolder<T>({ yaml, files = {} }: Situation, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-config-'));
  try {
    await mkdir(join(folder, 'policies'));
    for (const [path, content] of Object.entries({ 'gateway.yaml': yaml, ...files })) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Loads a configuration that must be good. */
export async function loaded(situation: Situation): Promise<Config> {
  return await inFolder(situation, async (folder) => {
    return (await load(join(folder, 'gateway.yaml'), situation.env ?? {})).config;
  });
}

/** The lines that a configuration is refused with, without the name of the folder; none when it is accepted. */
export async function refusals(situation: Situation): Promise<readonly string[]> {
  return await inFolder(situation, async (folder) => {
    try {
      await load(join(folder, 'gateway.yaml'), situation.env ?? {});
      return [];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return error.problems.map((problem) => String(problem).replaceAll(`${folder}/`, ''));
    }
  });
}
