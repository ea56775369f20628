/**
 * Shows that each capability, and each part of the policy language, can be deleted. In a copy of the sources it takes
 * away the folders of one name, with the keys in their `schema.json` and their lines in `all.ts` and `parts.ts`. The
 * compiler must then accept the rest, and a configuration or a policy that uses it is refused for an unknown key. With
 * `--core`, the tests of the core pass too.
 *
 *     npm run deletable
 *     npm run deletable -- lock revocation
 *
 * @module
 */

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Example, examples } from './examples.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** What each configuration has. */
const route = { name: 'api', path: '/api', audience: 'api', upstream: { url: 'http://127.0.0.1:1' } };

const args = process.argv.slice(2);
const withCore = args.includes('--core');
const named = args.filter((arg) => !arg.startsWith('--'));

/** The lists of the folders that can be deleted. */
const lists = { 'src/capabilities': 'all.ts', 'src/policy-parts': 'parts.ts' };

/** Where proofs and reviews name each part of the language: they stand above it, and read what it decides. */
const above = /^src\/(?:analysis|commands\/(?:learn|replay))\b/;

const names = new Set<string>();
for (const folder of Object.keys(lists))
  for (const entry of await readdir(join(root, folder), { withFileTypes: true }))
    if (entry.isDirectory()) names.add(entry.name);

const copy = await mkdtemp(join(tmpdir(), 'sallyport-deletable-'));
let failed = 0;
try {
  for (const name of named.length > 0 ? named : names) {
    const started = Date.now();
    await prepare(name);
    const problems = [...(await compilerProblems(name)), ...(await acceptedUses(name)), ...(await coreProblems())];
    const seconds = ((Date.now() - started) / 1000).toFixed(0);
    process.stdout.write(`${problems.length === 0 ? 'deletable' : 'NOT deletable'}: ${name} (${seconds} s)\n`);
    for (const problem of problems.slice(0, 10)) process.stdout.write(`  ${problem}\n`);
    failed += problems.length === 0 ? 0 : 1;
  }
} finally {
  await rm(copy, { recursive: true });
}
process.exitCode = failed === 0 ? 0 : 1;

/** Makes the copy, without one capability. */
async function prepare(name: string): Promise<void> {
  await rm(copy, { recursive: true });
  for (const each of ['src', 'schema', 'bin', 'templates', 'package.json', ...(withCore ? ['test', 'demo'] : [])])
    await cp(join(root, each), join(copy, each), { recursive: true });
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  const { compilerOptions } = JSON.parse(await readFile(join(root, 'tsconfig.json'), 'utf8')) as {
    readonly compilerOptions: object;
  };
  await writeFile(join(copy, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src', 'schema'] }));
  for (const [folder, list] of Object.entries(lists)) await takeAway(name, folder, join(copy, folder, list));
  await run(process.execPath, ['schema/compile.ts'], { cwd: copy });
}

async function takeAway(name: string, folder: string, list: string): Promise<void> {
  if (!existsSync(join(copy, folder, name))) return;
  await rm(join(copy, folder, name), { recursive: true });
  const text = await readFile(list, 'utf8');
  const [line, variable] = new RegExp(`^import \\{ (\\w+) \\} from './${name}/manifest.ts';\\n`, 'm').exec(text) ?? [];
  if (line === undefined) throw new Error(`${list} has no line for ${name}`);
  await writeFile(list, text.replace(line, '').replace(new RegExp(`([[ ])${variable}(?:, |,\\n|(?=\\]))`), '$1'));
}

async function compilerProblems(name: string): Promise<readonly string[]> {
  const problems = await problemsOf(join(root, 'node_modules/.bin/tsc'), []);
  return existsSync(join(root, 'src/policy-parts', name)) ? problems.filter((each) => !above.test(each)) : problems;
}

/** What the first tests say that fail; none without `--core`. */
async function coreProblems(): Promise<readonly string[]> {
  if (!withCore) return [];
  await cp(join(root, 'vitest.config.ts'), join(copy, 'vitest.config.ts'));
  const folders = ['test/core/lib', 'test/core/model', 'test/core/gateway'];
  const lines = await problemsOf(join(root, 'node_modules/.bin/vitest'), ['run', '--maxWorkers=1', ...folders]);
  const failed = lines.filter((line) => line.includes('FAIL'));
  return failed.length > 0 ? failed : lines;
}

async function problemsOf(command: string, options: readonly string[]): Promise<readonly string[]> {
  try {
    await run(command, options, { cwd: copy, maxBuffer: 64 * 1024 * 1024 });
    return [];
  } catch (error) {
    const {
      stdout = '',
      stderr = '',
      message,
    } = error as Error & { readonly stdout?: string; readonly stderr?: string };
    return ((stdout + stderr).trim() || message).split('\n');
  }
}

/** Why a use of it was not refused for its key. */
async function acceptedUses(name: string): Promise<readonly string[]> {
  const [first, ...others] = examples[name] ?? [];
  if (first === undefined) return [`test/deletable/examples.ts has nothing that uses ${name}`];
  const problems: string[] = [];
  for (const example of [first, ...others]) problems.push(...(await acceptedUse(example)));
  return problems;
}

async function acceptedUse({ key, refusal = 'unknown key', top, route: keys, policy }: Example): Promise<string[]> {
  const used = { ...route, ...(policy && { policy: 'used' }), ...keys };
  const file = join(copy, 'gateway.yaml');
  await writeFile(file, JSON.stringify({ public_url: 'http://127.0.0.1:8080', ...top, routes: [used] }));
  await mkdir(join(copy, 'policies'), { recursive: true });
  await writeFile(join(copy, 'policies/used.yaml'), JSON.stringify(policy ?? {}));
  try {
    await run(process.execPath, ['bin/sallyport.js', 'check', '--config', file], { cwd: copy });
    return [`${key} is accepted`];
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    const said = stdout + stderr;
    const at = `${policy === undefined ? 'gateway' : 'policies/used'}.yaml:1:`;
    const isRefused = said.split('\n').some((line) => line.includes(at) && line.includes(` ${key}: ${refusal}`));
    return isRefused ? [] : [`check says of ${key}: ${said.trim().slice(0, 400)}`];
  }
}
