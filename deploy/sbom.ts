/**
 * Prints the bill of materials (CycloneDX) of what runs: `npm run sbom`.
 *
 * It is npm's own, made of a lockfile without the development's part: `npm sbom --omit dev` leaves out whatever the
 * development needs too, and with it half of what runs (jose, ajv, yaml).
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
  // npm calls a project as its folder is called.
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
