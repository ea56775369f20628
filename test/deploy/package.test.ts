/**
 * The npm package, packed, and run with its production dependencies alone.
 *
 * @module
 */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import packageLock from '../../package-lock.json' with { type: 'json' };
import { outcome } from '../serve/process.ts';
import { passed, tryOut } from './trial.ts';

const root = new URL('../../', import.meta.url).pathname;
const run = (program: string, parameters: readonly string[]) => promisify(execFile)(program, parameters, { cwd: root });

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}

let folder: string;
let packed: Packed;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-package-'));
  // What `generate` builds is there since `npm ci`.
  await run('npm', ['run', 'build']);
  const { stdout } = await run('npm', ['pack', '--json', '--silent', '--ignore-scripts', '--pack-destination', folder]);
  [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [Packed];
});

test('contains the runtime and the documentation, and no development files', () => {
  expect(packageJson.scripts.prepack).toBe('npm run --silent generate && npm run build');
  // npm warns of them, `prepare` included, where a package is installed from a tarball.
  const ofInstallations = [
    'preinstall',
    'install',
    'postinstall',
    'prepublish',
    'preprepare',
    'prepare',
    'postprepare',
  ];
  expect(ofInstallations.filter((name) => name in packageJson.scripts)).toEqual([]);
  const paths = packed.files.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      'package.json',
      'LICENSE',
      'README.md',
      'CHANGELOG.md',
      'SECURITY.md',
      'bin/sallyport.js',
      'dist/main.js',
      'dist/parts/configuration.js',
      'dist/parts/draft-worker.js',
      'dist/parts/program.js',
      'dist/parts/serving.js',
      'console/built/index.html',
      'docs/configuration.md',
      'schema/gateway.schema.json',
      'templates/gateway.yaml',
      'templates/policies/tools.test.yaml',
    ]),
  );
  const tops = new Set(paths.flatMap((path) => /^[^/]+(?=\/)/.exec(path) ?? []));
  expect([...tops].toSorted()).toEqual(['bin', 'console', 'deploy', 'dist', 'docs', 'schema', 'templates']);
  expect(paths.filter((path) => /^console\/(?!built\/)|\.tsx?$/.test(path))).toEqual([]);
});

test('has our modules in a few files, and imports its dependencies as packages', async () => {
  const ours = packed.files.map(({ path }) => path).filter((path) => /^dist\/.*\.js$/.test(path));
  // A capability that is off is not loaded, so that each has a part of its own.
  expect(ours.length).toBeLessThan(170);
  const texts = await Promise.all(ours.map((path) => readFile(join(root, path), 'utf8')));
  const imports = [...texts.join('\n').matchAll(/^import .*"([^"]+)";$|\bimport\("([^"]+)"\)/gm)];
  const names = imports.map(([, specifier = '', loaded = specifier]) => /^(?:@[^/]+\/)?[^/]+/.exec(loaded)?.[0] ?? '');
  const packages = new Set(names.filter((name) => !/^(?:\.|node:)/.test(name)));
  expect([...packages].toSorted()).toEqual(Object.keys(packageJson.dependencies).toSorted());
});

test('requires the Node version of its dependencies', async () => {
  const [major, minor] = /^>=(\d+)\.(\d+)$/.exec(packageJson.engines.node)?.slice(1).map(Number) ?? [];
  expect([major, minor]).toEqual([22, 19]);
  for (const name of Object.keys(packageJson.dependencies)) {
    const text = await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8');
    const { engines } = JSON.parse(text) as { engines?: { node?: string } };
    const lowest = (engines?.node ?? '0').split('||').map((range) => /(\d+)(?:\.(\d+))?/.exec(range) ?? ['', '0', '0']);
    expect(
      lowest.some(([, wanted = '0', least = '0']) => Number(wanted) < 22 || (wanted === '22' && Number(least) <= 19)),
      `${name} needs ${engines?.node}`,
    ).toBe(true);
  }
});

// A Node of that age is not at hand: this one says that it is.
test.for([
  ['20.20.2', 1],
  ['22.18.0', 1],
  ['22.19.0', 0],
  ['24.0.0', 0],
] as const)('on Node %s its program ends with %i', async ([version, code]) => {
  const says = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
  const env = { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(says)}"` };
  const found = await outcome(['--version'], folder, { program: `${root}bin/sallyport.js`, env });
  const stderr =
    `sallyport: needs Node 22.19 or newer; this is ${version} (${process.execPath}); ` +
    'here, `npx sallyport` runs the newer one that `npm ci` installed\n';
  expect(found).toEqual(
    code === 0 ? { code, stdout: `${packageJson.version}\n`, stderr: '' } : { code, stdout: '', stderr },
  );
});

test('serves, with its production dependencies alone', { timeout: 300_000 }, async () => {
  const place = join(folder, 'place');
  await mkdir(join(place, 'node_modules'), { recursive: true });
  await run('tar', ['-xzf', join(folder, packed.filename), '-C', join(place, 'node_modules')]);
  for (const [path, { dev }] of Object.entries(packageLock.packages as Readonly<Record<string, { dev?: boolean }>>)) {
    if (!/^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path) || dev === true) continue;
    await mkdir(dirname(join(place, path)), { recursive: true });
    await symlink(join(root, path), join(place, path));
  }
  const program = join(place, 'node_modules/package', packageJson.bin.sallyport);
  expect(await tryOut(program, place)).toEqual(passed);
});
