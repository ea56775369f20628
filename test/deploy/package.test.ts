/**
 * The npm package, packed and installed as its users do.
 *
 * @module
 */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { outcome } from '../serve/process.ts';
import { passed, tryOut } from './trial.ts';

const root = new URL('../../', import.meta.url).pathname;
const npm = (parameters: readonly string[], cwd: string) => promisify(execFile)('npm', [...parameters], { cwd });

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}

let folder: string;
let packed: Packed;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-package-'));
  const { stdout } = await npm(['pack', '--json', '--silent', '--pack-destination', folder], root);
  [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [Packed];
});

test('contains the runtime and the documentation, and no development files', () => {
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
  expect(ours.length).toBeLessThan(80);
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

describe('on a Node that is too old', () => {
  test.for([
    ['20.20.2', 1],
    ['22.18.0', 1],
    ['22.19.0', 0],
    ['24.0.0', 0],
  ] as const)('%s', async ([version, code]) => {
    // A Node of that age is not at hand: this one says that it is.
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
});

describe('installed', () => {
  let place: string;
  let missing: string | undefined;
  let program: string;
  beforeAll(async () => {
    place = join(folder, 'place');
    program = join(place, 'node_modules/.bin/sallyport');
    await mkdir(place);
    await writeFile(join(place, 'package.json'), '{ "private": true }');
    const install = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'];
    try {
      await npm([...install, '--fetch-retries=0', '--fetch-timeout=20000', join(folder, packed.filename)], place);
    } catch (error) {
      missing = String(error).split('\n').slice(0, 3).join(' ');
      process.stdout.write(`its dependencies could not be installed, so the package is not tested: ${missing}\n`);
    }
  });

  test('checks, tests and serves, with one process and with two', { timeout: 300_000 }, async ({ skip }) => {
    skip(missing !== undefined);
    expect(await outcome(['--version'], place, { program })).toMatchObject({ stdout: `${packageJson.version}\n` });
    expect(await tryOut(program, place)).toEqual(passed);
  });

  test('installs no development packages', async ({ skip }) => {
    skip(missing !== undefined);
    const { stdout } = await npm(['ls', '--all', '--parseable'], place);
    expect(stdout).not.toMatch(/node_modules\/(?:vitest|typescript|preact|@modelcontextprotocol\/(?!client\b|core\b))/);
  });
});
