/**
 * Shows that each capability can be deleted. In a copy of the sources it takes away the folder of one capability, with
 * its keys in the schema and its line in `all.ts`. The compiler must then accept the rest, and a configuration that uses
 * the capability is refused for an unknown key. With `--core`, the tests of the core pass too.
 *
 *     npm run deletable
 *     npm run deletable -- lock revocation
 *
 * @module
 */

import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { examples } from './examples.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** What each configuration has. */
const route = { name: 'api', path: '/api', audience: 'api', upstream: { url: 'http://127.0.0.1:1' } };

const args = process.argv.slice(2);
const withCore = args.includes('--core');
const named = args.filter((arg) => !arg.startsWith('--'));

const folders = (await readdir(join(root, 'src/capabilities'), { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

const copy = await mkdtemp(join(tmpdir(), 'sallyport-deletable-'));
let failed = 0;
try {
  for (const name of named.length > 0 ? named : folders) {
    const started = Date.now();
    await prepare(name);
    const problems = [...(await compilerProblems()), ...(await acceptedUse(name)), ...(await coreProblems())];
    const seconds = ((Date.now() - started) / 1000).toFixed(0);
    process.stdout.write(`${problems.length === 0 ? 'deletable' : 'NOT deletable'}: ${name} (${seconds} s)\n`);
    for (const problem of problems) process.stdout.write(`  ${problem}\n`);
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
  await rm(join(copy, 'src/capabilities', name), { recursive: true });
  const list = join(copy, 'src/capabilities/all.ts');
  const text = await readFile(list, 'utf8');
  const [line, variable] = new RegExp(`^import \\{ (\\w+) \\} from './${name}/manifest.ts';\\n`, 'm').exec(text) ?? [];
  if (line === undefined) throw new Error(`all.ts has no line for ${name}`);
  await writeFile(list, text.replace(line, '').replace(`  ${variable},\n`, ''));
  await run(process.execPath, ['schema/compile.ts'], { cwd: copy });
}

async function compilerProblems(): Promise<readonly string[]> {
  return problemsOf(join(root, 'node_modules/.bin/tsc'), []);
}

/** What the first tests say that fail; none without `--core`. */
async function coreProblems(): Promise<readonly string[]> {
  if (!withCore) return [];
  await cp(join(root, 'vitest.config.ts'), join(copy, 'vitest.config.ts'));
  return problemsOf(join(root, 'node_modules/.bin/vitest'), [
    'run',
    '--maxWorkers=1',
    'test/core/lib',
    'test/core/model',
    'test/core/gateway',
  ]);
}

async function problemsOf(command: string, options: readonly string[]): Promise<readonly string[]> {
  try {
    await run(command, options, { cwd: copy, maxBuffer: 64 * 1024 * 1024 });
    return [];
  } catch (error) {
    const { stdout = '', message } = error as Error & { readonly stdout?: string };
    return (stdout.trim() || message).split('\n').slice(0, 10);
  }
}

/** Why the use of a capability was not refused for its key. */
async function acceptedUse(name: string): Promise<readonly string[]> {
  const example = examples[name];
  if (example === undefined) return [`test/deletable/examples.ts has no configuration that uses ${name}`];
  if (example.isInPolicies === true) return [];
  const yaml = { public_url: 'http://127.0.0.1:8080', ...example.top, routes: [{ ...route, ...example.route }] };
  const file = join(copy, 'gateway.yaml');
  await writeFile(file, JSON.stringify(yaml));
  try {
    await run(process.execPath, ['bin/sallyport.js', 'check', '--config', file], { cwd: copy });
    return ['a configuration that uses it is accepted'];
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    const said = stdout + stderr;
    return said.includes(`${example.key}: ${example.refusal ?? 'unknown key'}`)
      ? []
      : [`check says: ${said.trim().slice(0, 400)}`];
  }
}
