/**
 * Prints the bill of materials (CycloneDX) of the runtime: `npm run sbom`.
 *
 * `npm sbom` runs on a lockfile without development dependencies. `npm sbom --omit dev` omits too much: it leaves out
 * every package that development also uses, half of the runtime (jose, ajv, yaml).
 *
 * @module
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Manifest = Readonly<Record<string, unknown>>;
interface Lockfile {
  readonly packages: Readonly<Record<string, Manifest>>;
}

const root = new URL('../', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, root), 'utf8');

const without = (entry: Manifest): Manifest => ({ ...entry, devDependencies: undefined });

const manifest = JSON.parse(read('package.json')) as Manifest;
const lockfile = JSON.parse(read('package-lock.json')) as Lockfile;
const packages = Object.entries(lockfile.packages)
  .filter(([, entry]) => entry['dev'] !== true)
  .map(([path, entry]) => [path, without(entry)]);

const own = mkdtempSync(join(tmpdir(), 'sallyport-sbom-'));
try {
  // npm names the project after its folder.
  const project = join(own, 'sallyport');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), JSON.stringify(without(manifest)));
  writeFileSync(
    join(project, 'package-lock.json'),
    JSON.stringify({ ...lockfile, packages: Object.fromEntries(packages) }),
  );
  const parameters = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  execFileSync('npm', parameters, { cwd: project, stdio: ['ignore', 'inherit', 'inherit'] });
} finally {
  rmSync(own, { recursive: true });
}
