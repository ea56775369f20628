import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

interface Locked {
  readonly version: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
}

const lockfile = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
/** By path, `node_modules/NAME`; without ourselves. */
const packages = Object.entries(lockfile.packages).filter(([path]) => path !== '');
const running = packages.filter(([, { dev }]) => dev !== true);
const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

describe('package-lock.json', () => {
  test('has the digest of each package and no registry URL, so that the installer chooses the registry', () => {
    expect(packages.filter(([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity))).toEqual([]);
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  test('has install scripts only for packages that package.json allows, and none in the runtime', () => {
    const scripted = packages.filter(([, { hasInstallScript }]) => hasInstallScript === true);
    expect(scripted.map(([path]) => nameOf(path))).toEqual(Object.keys(manifest.allowScripts));
    expect(scripted.filter(([, { dev }]) => dev !== true)).toEqual([]);
  });

  test('has only licences in the runtime that require no more than their text', () => {
    const permissive = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT']);
    expect(running.filter(([, { license = 'none' }]) => !permissive.has(license))).toEqual([]);
  });
});

test('the bill of materials lists exactly the runtime, with version, licence and digest', () => {
  const sbom = JSON.parse(execFileSync(process.execPath, ['deploy/sbom.ts'], { encoding: 'utf8' })) as {
    readonly components: readonly {
      readonly name: string;
      readonly version: string;
      readonly licenses: readonly { readonly license: { readonly id: string } }[];
      readonly hashes: readonly { readonly alg: string; readonly content: string }[];
    }[];
  };
  const named = sbom.components.map(({ name, version, licenses, hashes }) => ({
    name,
    version,
    license: licenses.map(({ license }) => license.id).join(),
    integrity: hashes.map(({ content }) => `sha512-${Buffer.from(content, 'hex').toString('base64')}`).join(),
  }));
  const expected = running.map(([path, { version, license, integrity }]) => ({
    name: nameOf(path),
    version,
    license,
    integrity,
  }));
  const byName = (one: { name: string }, other: { name: string }): number => (one.name < other.name ? -1 : 1);
  expect(named.toSorted(byName)).toEqual(expected.toSorted(byName));
});
